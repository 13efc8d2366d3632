"""A study: its file, its checks, its points, its seeds."""
