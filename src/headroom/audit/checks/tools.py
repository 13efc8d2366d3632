"""Traps of single tools: what their options make of a figure."""

import re

from headroom.audit.result import Checked, Finding, Level, Result

CACHED_S = 20e-6
"""No block device answers a request through the kernel in less; memory takes 1 to 10 us."""
SMALL_BYTES = 4 << 30
"""A file that fits into the memory of nearly every machine."""
EARLY = 0.9
_SCALES = {"": 1, "b": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600}


def fio(result: Result) -> Checked:
    """Hold fio's options against each other: depth and engine, page cache, early end."""
    if result.tool != "fio":
        return None
    found = []
    options = result.settings
    depth, engine = options.get("iodepth", "1"), options.get("ioengine", "psync")
    if depth.isdigit() and int(depth) > 1 and options["is_async"] == "False":
        found.append(
            _doubt(
                result, f"iodepth={depth} with ioengine={engine}, which has one request in flight",
                "N = X R: a synchronous engine has depth 1, whatever iodepth says",
                "use ioengine=io_uring or libaio with direct=1, or state depth 1",
            )
        )  # fmt: skip
    found += _cache(result)
    wanted = _parsed(options.get("runtime", ""), _SECONDS)
    if wanted and float(options["run_s"]) < EARLY * wanted:
        found.append(
            _doubt(
                result, f"ended after {float(options['run_s']):.3g} s of runtime={options['runtime']}",
                "without time_based a job ends with its size", "add time_based=1",
            )
        )  # fmt: skip
    return found


def _cache(result: Result) -> list[Finding]:
    options = result.settings
    if options.get("direct", "0") not in {"0", "false"} or " trim" in result.name:
        return []
    typical = result.percentiles.get(0.5, result.mean)
    size = _parsed(options.get("size", options.get("filesize", "")), _SCALES)
    if typical is not None and typical.high < CACHED_S:
        return [
            _doubt(
                result, f"median {typical.value * 1e6:.3g} us without direct=1",
                "no device answers in less than 20 us through the kernel: the page cache did",
                "add direct=1, or call it a measurement of the page cache",
            )
        ]  # fmt: skip
    if size and size < SMALL_BYTES:
        return [
            _doubt(
                result, f"size={options.get('size', options.get('filesize'))} without direct=1",
                "a file smaller than memory is served from the page cache once it was read or written",
                "add direct=1, or a size well above memory",
            )
        ]  # fmt: skip
    return []


def _parsed(text: str, scales: dict[str, int]) -> float:
    """Return a number with a unit; 0 if it is none.

    Examples
    --------
    >>> _parsed("64M", _SCALES), _parsed("5m", _SECONDS), _parsed("50%", _SCALES)
    (67108864.0, 300.0, 0.0)
    """
    match = re.fullmatch(r"([\d.]+)([a-z]?)i?b?", text.strip().lower())
    return float(match[1]) * scales[match[2]] if match and match[2] in scales else 0.0


def pgbench(result: Result) -> Checked:
    """Hold pgbench's clients against its scale, connections against transactions."""
    if result.tool != "pgbench":
        return None
    found = []
    scale = float(result.settings.get("scaling factor", "0"))
    workload, clients = result.name, result.clients or 0.0
    if scale and clients > scale and "TPC-B" in workload:
        found.append(
            _doubt(
                result, f"{clients:g} clients on scale {scale:g}",
                "each transaction updates one of `scale` branches: more clients queue for row locks",
                "initialise with a scale of at least the number of clients (pgbench -i -s)",
            )
        )  # fmt: skip
    if result.settings["includes_connections"] == "True":
        found.append(
            _doubt(
                result, "each transaction makes a connection (-C)",
                "a connection costs milliseconds, a transaction often less",
                "leave -C out, or call it a measurement of connections",
            )
        )  # fmt: skip
    return found


def hammerdb(result: Result) -> Checked:
    """Hold new orders against all transactions."""
    if result.tool != "hammerdb" or int(result.settings["nopm"]) <= int(result.settings["tpm"]):
        return None if result.tool != "hammerdb" else []
    return [
        Finding(
            level=Level.CONTRADICTION, check="tool", result=result.name,
            figure=f"{result.settings['nopm']} NOPM of {result.settings['tpm']} TPM",
            law="new orders are a part of all transactions", cure="give the line as HammerDB wrote it",
        )
    ]  # fmt: skip


def _doubt(result: Result, figure: str, law: str, cure: str) -> Finding:
    return Finding(
        level=Level.DOUBTFUL, check="tool", result=result.name, figure=figure, law=law, cure=cure
    )  # fmt: skip
