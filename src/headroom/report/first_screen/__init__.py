"""The first screen of a report: the answer, its figure, one figure per question, what is folded."""
