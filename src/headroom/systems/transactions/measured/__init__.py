"""TPC-C and TPC-B on real databases."""
