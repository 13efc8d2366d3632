"""The folded figures of a page, as inputs of `headroom.report.figures`.

Invariant: restates results; what a figure leaves out, its caption says.
"""
