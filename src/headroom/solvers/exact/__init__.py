"""Solutions that follow from a theorem about exactly the given network."""
