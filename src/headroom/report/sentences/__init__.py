"""Evidence as sentences: the only package that words a verdict.

Invariant: a sentence follows from the fields of its evidence and computes nothing new.
"""
