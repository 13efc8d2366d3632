"""The advisor: which layout of records is the fastest for a user's mix on this processor.

From below: `question`, `configurations`, `timing` (a mix is timed operation by operation), `search`
(sweeps, then a race in rounds), `machine` and `reason` (the model explains, and decides nothing: to
simulate a table costs more than to time it), `advice`, `shown`; `command` and `system` use them.
"""
