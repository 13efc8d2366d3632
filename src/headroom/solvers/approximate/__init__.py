"""Approximations: mean value analysis, pools from the inside out, forks, unequal servers."""
