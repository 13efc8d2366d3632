"""The layer `memory_probe`: latency, bandwidth and hand-over times of this machine's memory."""
