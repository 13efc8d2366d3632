"""The documents as a site with search."""
