"""Factors outside the study that affect a result: machine, its load, repository, programs."""
