"""The share of the tool itself in a result: when the load driver, not the target, is the limit."""

MOST_SHARE = 0.1
OVER_SHARE = "the tool itself is being measured: its share in this result (tool_share) is above 10%"


def tool_share(*, own_s: float, count: float, load_s: float, threads: int) -> float:
    """Return the share of the tool in the time of its threads; at 1 it sets the throughput.

    Parameters
    ----------
    own_s
        Processor time (s) that the tool needs for one operation on a target that does nothing.
    count
        Operations of the run.
    load_s
        Length (s) of the load; without any length the share is 0.
    threads
        Threads that generate the load, >= 1.

    Examples
    --------
    >>> tool_share(own_s=1e-6, count=250_000, load_s=1.0, threads=1)
    0.25
    """
    if load_s <= 0.0:
        return 0.0
    return min(own_s * count / (load_s * threads), 1.0)
