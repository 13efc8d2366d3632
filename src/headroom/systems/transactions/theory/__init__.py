"""What formulas say of a machine: demands, bottlenecks, queues."""
