"""A command whose services are on other hosts: what both sides do, and say to each other."""
