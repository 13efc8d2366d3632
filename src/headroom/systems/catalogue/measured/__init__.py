"""The measured system: services, loads and observers of one point."""
