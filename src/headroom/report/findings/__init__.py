"""What the analysis found, each kind as sentences, tables and columns of the terminal."""
