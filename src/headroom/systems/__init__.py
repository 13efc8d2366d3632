"""What can be studied: one folder each layer, found by registration; none imports another."""
