"""Parameters fitted to measurements, and predictions with their errors."""
