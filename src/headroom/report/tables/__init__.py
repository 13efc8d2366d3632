"""The tables of the page."""
