"""A device made of a script, whose truth is known."""
