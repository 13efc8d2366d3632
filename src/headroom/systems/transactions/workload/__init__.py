"""TPC-C: what the transactions access, the programs they are, who sends them."""
