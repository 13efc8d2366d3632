"""Fixtures of measured databases."""

from tests.support.transactions_program import transactions_program

__all__ = ["transactions_program"]
