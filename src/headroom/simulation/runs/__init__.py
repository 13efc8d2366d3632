"""One run of a model: its options, its result, and the trace of its events."""
