"""One durable row per finished replication."""
