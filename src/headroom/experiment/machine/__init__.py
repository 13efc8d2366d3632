"""Everything outside the study that affects a result: machine, its load, repository, programs."""
