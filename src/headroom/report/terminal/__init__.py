"""Results of a study in the terminal, and the console that prints them."""
