"""Warm-up, intervals, bottleneck, knees, claims: statistics exist once, here."""
