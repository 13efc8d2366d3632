"""Change operators of the code, and see whether the tests of its own part notice."""
