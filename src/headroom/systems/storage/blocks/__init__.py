"""Loads of single requests: jobs for the engine, and runs made of its tables."""
