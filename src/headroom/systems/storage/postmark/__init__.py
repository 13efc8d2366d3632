"""PostMark: its run on files, and its metrics."""
