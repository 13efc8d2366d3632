"""The advisor: which layout of records is the fastest for a user's mix on this processor."""
