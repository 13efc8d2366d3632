"""Audit whether the results of other tools' benchmarks can be true.

Readers turn files into `Result`s, checks hold each against a law. Nothing is run or measured.
Invariant: a contradiction follows from a theorem and the rounding of the stated numbers alone.
"""
