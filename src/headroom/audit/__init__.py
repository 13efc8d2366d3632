"""Audit: can the results of another tool's benchmark be true?

Readers turn files into `Result`s, checks hold each against a law. Nothing is run or measured.
Invariant: a contradiction follows from a theorem and the rounding of the stated numbers alone.
"""
