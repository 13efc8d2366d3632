"""Counters in texts: of a command, nginx, HAProxy, Prometheus, redis.

Sources: nginx documentation, module `ngx_http_stub_status_module`; HAProxy management guide,
section 9.1 (CSV); Prometheus documentation, "Exposition formats"; redis documentation, INFO.
"""

import csv
import io
import re
import shlex
import socket
import subprocess
import urllib.request
from collections.abc import Callable
from urllib.parse import unquote, urlsplit

from headroom.observe.rates.adapter import Adapter, AdapterError

_PATIENCE_S = 2.0
"""Time (s) that a server has to answer."""
_MOST_BYTES = 64 << 20
_NUMBER = re.compile(r"\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
_NGINX = re.compile(r"^\s*\d+\s+\d+\s+(\d+)\s*$", re.MULTILINE)
_REDIS = re.compile(r"^total_commands_processed:(\d+)", re.MULTILINE)
_LABEL = re.compile(r'(\w+)\s*=\s*"((?:[^"\\]|\\.)*)"')
_SAMPLE = re.compile(
    r"^([A-Za-z_:][\w:]*)\s*(?:\{((?:[^\"}]|\"(?:[^\"\\]|\\.)*\")*)\})?\s+(-?[\d.]+(?:[eE][-+]?\d+)?)",
    re.MULTILINE,
)


class TextAdapter(Adapter):
    """Reads a text at a place; what follows ``#`` chooses counters in it, whose sum counts.

    `own` is how much one request for the text adds to them.
    """

    def __init__(
        self,
        place: str,
        ask: Callable[[str], str],
        counters: Callable[[str, str], list[float]],
        cure: str,
        own: int = 0,
    ) -> None:
        super().__init__(place)
        self._ask, self._counters, self._cure, self._own = ask, counters, cure, own
        self._asked = 0

    def count(self) -> float:
        """Return the counter, without the requests of this adapter."""
        place, _, chosen = self.place.partition("#")
        shown = place.rpartition("@")[2].removeprefix("//")
        try:
            text = self._ask(place)
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            reason = getattr(error, "reason", None) or getattr(error, "strerror", None) or error
            raise AdapterError(f"{shown} does not answer: {reason}", cure=self._cure) from error
        found = self._counters(text, chosen)
        if not found:
            said = f"no counter {chosen}".strip()
            raise AdapterError(f"{shown} has {said} in {text[:60].strip()!r}", cure=self._cure)
        self._asked += self._own
        return sum(found) - self._asked


def command(place: str) -> Adapter:
    """Return a command, run without a shell, that prints a counter last."""
    return TextAdapter(place, _ran, _last_number, f"run `{place}` alone: it must print a number")


def nginx(place: str) -> Adapter:
    """Return the requests by a page of `stub_status`."""
    cure = "add `location = /status { stub_status; allow 127.0.0.1; deny all; }`"
    return TextAdapter(place, _fetched, lambda text, _: _numbers(_NGINX, text), cure, own=1)


def haproxy(place: str) -> Adapter:
    """Return the requests, or else sessions, of all front ends or of the chosen one."""
    cure = "name the statistics as CSV: http://127.0.0.1:8404/stats;csv"
    return TextAdapter(place, _fetched, _front_ends, cure, own=1)


def prometheus(place: str) -> Adapter:
    """Return the sum of the series of a name and labels."""
    return TextAdapter(place, _fetched, _series, 'write URL#NAME or URL#NAME{label="value"}')


def redis(place: str) -> Adapter:
    """Return the commands of a server ``//[USER:PASSWORD@]HOST:PORT``."""
    cure = "write redis://:PASSWORD@HOST:PORT; the user needs the command INFO"
    own = 2 if urlsplit(place).password else 1
    return TextAdapter(place, _info, lambda text, _: _numbers(_REDIS, text), cure, own)


def _ran(place: str) -> str:
    done = subprocess.run(
        shlex.split(place), capture_output=True, text=True, check=False, timeout=_PATIENCE_S
    )
    if done.returncode:
        raise ValueError(f"exit code {done.returncode}, {done.stderr.strip()[-200:]}")
    return done.stdout


def _fetched(url: str) -> str:
    if not url.startswith(("http://", "https://")):
        raise ValueError("it is not a URL")
    with urllib.request.urlopen(url, timeout=_PATIENCE_S) as answer:  # noqa: S310 - checked
        return str(answer.read(_MOST_BYTES).decode(errors="replace"))


def _info(place: str) -> str:
    """Return the statistics of redis, by a connection of its own."""
    url = urlsplit(place)
    words = [["AUTH", *filter(None, [url.username]), url.password]] if url.password else []
    request = b""
    for one in [*words, ["INFO", "stats"]]:
        parts = [unquote(word).encode() for word in one]
        request += b"*%d\r\n" % len(parts)
        request += b"".join(b"$%d\r\n%s\r\n" % (len(part), part) for part in parts)
    address = (url.hostname or "127.0.0.1", url.port or 6379)
    with socket.create_connection(address, timeout=_PATIENCE_S) as link:
        link.sendall(request)
        link.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: link.recv(65536), b"")).decode(errors="replace")


def _numbers(pattern: re.Pattern[str], text: str) -> list[float]:
    return [*map(float, pattern.findall(text))]


def _last_number(text: str, _: str) -> list[float]:
    return _numbers(_NUMBER, text)[-1:]


def _front_ends(text: str, chosen: str) -> list[float]:
    return [
        float(row.get("req_tot") or row.get("stot") or 0)
        for row in csv.DictReader(io.StringIO(text.lstrip("# ")))
        if row.get("svname") == "FRONTEND" and chosen in ("", row.get("pxname"))
    ]


def _series(text: str, chosen: str) -> list[float]:
    r"""Return the values of the series of a name and labels; what is not finite is none.

    Examples
    --------
    >>> _series('# HELP a b\na{code="200",path="/}"} 3 1700000000\na NaN\nab 7\n', 'a{code="200"}')
    [3.0]
    """
    head, _, labels = chosen.partition("{")
    wanted = dict(_LABEL.findall(labels)).items()
    return [
        float(value) for name, own, value in _SAMPLE.findall(text)
        if name == head and wanted <= dict(_LABEL.findall(own)).items()
    ]  # fmt: skip
