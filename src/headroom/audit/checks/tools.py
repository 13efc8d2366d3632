"""Traps of single tools: what their options make of a figure."""

import re
from collections.abc import Mapping

from headroom.audit.result import Checked, Finding, Result, doubt

CACHED_S = 20e-6
"""No block device answers a request through the kernel in less; memory takes 1 to 10 us."""
SMALL_BYTES = 4 << 30
"""A file that fits into the memory of nearly every machine."""
EARLY = 0.9
NEW_ORDERS_A_MINUTE, ALL_A_MINUTE = 12.86, 28.58
"""Most that the terminals of a warehouse of TPC-C ask for in a minute if answers take no time: new
orders, and all transactions (clauses 4.1.3 and 5.2: ten terminals, a mean cycle of 20.99 s)."""
_SCALES = {"": 1, "b": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600}


def fio(result: Result) -> Checked:
    """Hold fio's options against each other: depth and engine, page cache, early end."""
    if result.tool != "fio":
        return None
    options = result.settings
    found = _cache(result)
    depth, engine = options.get("iodepth", "1"), options.get("ioengine", "psync")
    if depth.isdigit() and int(depth) > 1 and options["is_async"] == "False":
        figure = f"iodepth={depth} with ioengine={engine}, which has one request in flight"
        law = "N = X R: a synchronous engine has depth 1, whatever iodepth says"
        cure = "use ioengine=io_uring or libaio with direct=1, or state depth 1"
        found.append(doubt(figure, law, cure))
    wanted_s, run_s = _parsed(options.get("runtime", ""), _SECONDS), float(options["run_s"])
    if wanted_s and run_s < EARLY * wanted_s:
        figure = f"ended after {run_s:.3g} s of runtime={options['runtime']}"
        found.append(doubt(figure, "without time_based a job ends with its size", "add time_based"))
    return found


def _cache(result: Result) -> list[Finding]:
    options = result.settings
    if options.get("direct", "0") not in {"0", "false"} or result.name.endswith(" trim"):
        return []
    typical = result.percentiles.get(0.5, result.mean)
    size = options.get("size", options.get("filesize", ""))
    if typical is not None and typical.high < CACHED_S:
        figure = f"median {typical.value * 1e6:.3g} us without direct=1"
        law = "no device answers in less than 20 us through the kernel: the page cache did"
        return [doubt(figure, law, "add direct=1, or call it a measurement of the page cache")]
    if 0 < _parsed(size, _SCALES) < SMALL_BYTES:
        law = "a file smaller than memory comes from the page cache once it was read or written"
        cure = "add direct=1, or give a size well above memory"
        return [doubt(f"size={size} without direct=1", law, cure)]
    return []


def _parsed(text: str, scales: Mapping[str, int]) -> float:
    """Return a number with a unit; 0 if it is none.

    Examples
    --------
    >>> _parsed("64M", _SCALES), _parsed("5m", _SECONDS), _parsed("50%", _SCALES)
    (67108864.0, 300.0, 0.0)
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([a-z]?)i?b?", text.strip().lower())
    return float(match[1]) * scales[match[2]] if match and match[2] in scales else 0.0


def pgbench(result: Result) -> Checked:
    """Hold pgbench's clients against its scale, connections against transactions."""
    if result.tool != "pgbench":
        return None
    found = []
    scale, clients = float(result.settings.get("scaling factor", "0")), result.clients or 0.0
    if clients > scale > 0.0 and "TPC-B" in result.name:
        law = "each transaction updates one of `scale` branches: more clients queue for row locks"
        cure = "initialise with a scale of at least the number of clients (pgbench -i -s)"
        found.append(doubt(f"{clients:g} clients on scale {scale:g}", law, cure))
    if result.settings["includes_connections"] == "True":
        law = "a connection costs milliseconds, a transaction often less"
        cure = "leave -C out, or call it a measurement of connections"
        found.append(doubt("each transaction makes a connection (-C)", law, cure))
    return found


def warehouses(result: Result) -> Checked:
    """Hold the rate of TPC-C against what the terminals of its warehouses can ask for."""
    counted = result.levels.get("warehouses", result.settings.get("warehouses", ""))
    if result.tool == "benchbase" and result.name.lower() == "tpcc":
        counted = result.settings.get("scalefactor", "")
    count = _number(str(counted))
    if count <= 0.0 or result.throughput is None:
        return None
    most = NEW_ORDERS_A_MINUTE if result.name == "new orders" else ALL_A_MINUTE
    what = "new orders" if result.name == "new orders" else "transactions"
    if 60.0 * result.throughput.low <= most * count:
        return []
    figure = f"{60.0 * result.throughput.value:.4g} {what} a minute of {count:g} warehouses"
    law = (
        f"terminals that key in and think ask for at most {most:g} a minute of each warehouse, so "
        "these did not"
    )
    cure = "say that keying and think times are left out, and compare it with such results alone"
    return [doubt(figure, law, cure)]


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0
