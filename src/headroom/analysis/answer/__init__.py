"""The answer of a study: the one statement that its result carries, its figure and its cautions."""
