"""The answer of `headroom size`: in the terminal, as a map and as a page."""
