"""Simulated devices: native mechanisms, and the models that queue in front of them."""
