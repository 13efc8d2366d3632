"""Checks: each function holds one result against one law, see `headroom.audit.result.Checked`."""
