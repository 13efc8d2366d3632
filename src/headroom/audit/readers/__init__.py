"""Readers: one module for the files of each tool, found by their content."""
