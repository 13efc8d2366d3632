"""Comparisons and histories in sentences, in the terminal, and as pages."""
