"""Device models fitted to measurements: the model, its closed network, and the method."""
