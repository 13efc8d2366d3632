"""Quantities of several points, such as a speed-up."""
