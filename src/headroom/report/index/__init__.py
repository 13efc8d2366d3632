"""One page over the studies of a folder."""
