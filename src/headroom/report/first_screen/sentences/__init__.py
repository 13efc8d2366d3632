"""The answer of a study as sentences: the same on a page, in a terminal and in a notebook."""
