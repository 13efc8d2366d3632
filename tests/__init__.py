"""Tests across the parts; the tests of a single part are next to its code."""
