"""Devices that are simulated: native mechanisms, and the models that queue before them."""
