"""Suites of benchmarks as a gate runs them: each process of a tool gives one sample of each row.

A tool is a module with two functions, see `tool.Tool`; `tools.TOOLS` lists them. `measuring` runs
base and head in random blocks, `judging` decides.
"""
