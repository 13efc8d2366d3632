"""Systems to study: one folder per layer, found by registration; none imports another."""
