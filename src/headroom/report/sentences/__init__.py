"""Evidence as sentences: the only place that words a verdict.

Invariant: a sentence follows from the fields of its evidence and computes nothing new.
"""
