"""What can be known of a model before it runs: errors, bounds, visits, what holds what."""
