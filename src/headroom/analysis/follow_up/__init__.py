"""What to run next: more replications, levels between, changed resources."""
