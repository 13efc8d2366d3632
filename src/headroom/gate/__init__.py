"""Compare commands, revisions and results with each other; gates for regressions; histories."""
