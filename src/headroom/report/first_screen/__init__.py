"""The first screen of a study in a terminal: its answer in at most 24 lines."""
