"""Rates of operations: one adapter for each kind of server that counts what it completes."""
