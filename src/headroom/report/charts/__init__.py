"""Vega-Lite specifications of the report's figures, as plain data.

Invariant: a specification carries no colour that depends on the scheme; those are in `theme`,
so that the page can draw every figure again when the scheme changes.
"""
