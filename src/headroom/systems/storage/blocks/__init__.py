"""Loads of single requests: jobs for the engine, and runs built from its tables."""
