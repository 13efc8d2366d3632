"""Real servers whose bottleneck is known, fitted and predicted as in a study."""
