"""A console for texts and tables of any width, and answers of formulas on it."""
