"""Answers to what a study asks as data: one module for each kind that no verdict has."""
