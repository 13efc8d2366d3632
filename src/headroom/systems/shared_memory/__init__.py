"""Shared memory over an interconnect: coherence protocols and their checker."""
