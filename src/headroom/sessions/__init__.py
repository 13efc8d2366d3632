"""Sessions: open, run, resume and analyse a study; ask about a model. Below commands and Python.

Invariant: nothing is printed here. Messages go to the `Voice` of the caller, which
decides about options, output and exit codes.
"""
