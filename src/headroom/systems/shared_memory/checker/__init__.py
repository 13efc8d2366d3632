"""Model checker of coherence protocols."""
