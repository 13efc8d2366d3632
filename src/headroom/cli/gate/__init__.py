"""Commands that compare: `headroom compare` and `headroom history`."""
