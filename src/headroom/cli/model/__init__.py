"""Commands about a model."""
