"""What a result depends on besides the study: machine, load on it, repository, programs."""
