"""Laws of chance: distributions, arrival processes, and fits of both to samples."""
