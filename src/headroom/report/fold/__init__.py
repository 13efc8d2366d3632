"""What a page folds: each experiment with its findings, figures and tables."""
