"""Claims of a study, and the evidence for each."""
