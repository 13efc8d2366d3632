"""Models of storage devices, and of PostMark on them, for the simulation kernel."""
