"""What is behind the first screen: each experiment with all it found, on a page or as text."""
