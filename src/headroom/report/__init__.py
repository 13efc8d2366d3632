"""What a reader sees of a study: the HTML page and the terminal tables.

The package reads `headroom.analysis.results.StudyResult` only, and computes no statistics.
"""
