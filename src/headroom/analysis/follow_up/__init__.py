"""What to run next: more replications, levels in between, changed resources."""
