"""Shared test support: fakes, example studies, sessions."""
