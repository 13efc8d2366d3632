"""A scripted device, whose true behaviour is known."""
