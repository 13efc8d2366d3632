"""Commands about a study and its results."""
