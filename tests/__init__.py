"""Tests across the parts; those of one part lie beside its code."""
