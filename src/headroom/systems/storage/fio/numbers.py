"""Number formats of fio: sizes, times, truth values and lists for reads, writes and trims.

`kb_base` defines `k`, 1024 by default. `kib` is then the other value, 1000: fio does this to keep
old files working. In fio a decimal point ends a number; here it is rejected.
"""

import re

_NUMBER = re.compile(r"(0x[0-9a-f]+|[0-9]+)\s*([a-z%]*)", re.IGNORECASE)
_POWERS = {"k": 1, "m": 2, "g": 3, "t": 4, "p": 5}
_SECONDS = {
    "": 1.0, "s": 1.0, "sec": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0,
    "ms": 1e-3, "msec": 1e-3, "us": 1e-6, "usec": 1e-6,
}  # fmt: skip
_BASES = {1024: 1000, 1000: 1024}


def size_of(text: str, kb_base: int) -> int | None:
    """Return a number with a size suffix, None if it is none.

    Examples
    --------
    >>> size_of("4k", 1024), size_of("4kib", 1024), size_of("1G", 1000), size_of("1.5m", 1024)
    (4096, 4000, 1000000000, None)
    """
    match = _NUMBER.fullmatch(text.strip())
    if match is None:
        return None
    unit = match[2].lower()
    if unit in {"", "b"}:
        return int(match[1], 0)
    power = _POWERS.get(unit[0])
    if power is None or unit[1:] not in {"", "b", "i", "ib"}:
        return None
    base = _BASES[kb_base] if unit.endswith("ib") else kb_base
    factor: int = base**power
    return int(match[1], 0) * factor


def seconds_of(text: str) -> float | None:
    """Return a time (s), None if it is none.

    Examples
    --------
    >>> seconds_of("30"), seconds_of("2m"), seconds_of("500ms"), seconds_of("soon")
    (30.0, 120.0, 0.5, None)
    """
    match = _NUMBER.fullmatch(text.strip())
    factor = None if match is None else _SECONDS.get(match[2].lower())
    return None if match is None or factor is None else int(match[1], 0) * factor


def truth_of(text: str) -> bool | None:
    """Return whether an option is on; one without a value is.

    Examples
    --------
    >>> truth_of(""), truth_of("1"), truth_of("0"), truth_of("maybe")
    (True, True, False, None)
    """
    return {"": True, "1": True, "0": False}.get(text)
