"""Checks of answers before they are believed: each is computed again, from the rows alone."""
