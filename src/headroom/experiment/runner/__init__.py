"""What runs next and where: blocks, workers, resuming, progress."""
