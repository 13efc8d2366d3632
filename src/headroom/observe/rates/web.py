"""Counters that servers offer as text over HTTP: nginx, HAProxy, Prometheus.

Sources: nginx documentation, module `ngx_http_stub_status_module`; HAProxy management guide,
section 9.1 (CSV format); Prometheus documentation, "Exposition formats".
"""

import csv
import io
import math
import re
import socket
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field

from headroom.observe.rates.adapter import PATIENCE_S, Adapter, AdapterError

_NGINX = re.compile(r"^\s*(\d+)\s+(\d+)\s+(\d+)\s*$", re.MULTILINE)
_LABEL = re.compile(r'(\w+)\s*=\s*"((?:[^"\\]|\\.)*)"')
_SAMPLE = re.compile(
    r"^([A-Za-z_:][\w:]*)\s*(?:\{((?:[^\"}]|\"(?:[^\"\\]|\\.)*\")*)\})?\s+(\S+)", re.MULTILINE
)
_ANSWER_BYTES = 64 << 20


@dataclass(slots=True)
class _TextAdapter(Adapter):
    """Reads a text; its own requests are left out."""

    _asked: int = field(default=0, init=False)

    def count(self) -> float:
        """Return the counter in the text."""
        url, _, chosen = self.place.partition("#")
        self._asked += 1
        return self._counted(self._text(url), chosen) - self._own()

    def _own(self) -> int:
        return self._asked

    def _text(self, url: str) -> str:
        if not url.startswith(("http://", "https://")):
            raise self._error(f"{url!r} is not a URL", "write http://HOST:PORT/PATH")
        try:
            with urllib.request.urlopen(url, timeout=PATIENCE_S) as answer:  # noqa: S310 - checked
                return str(answer.read(_ANSWER_BYTES).decode(errors="replace"))
        except (OSError, ValueError, urllib.error.URLError) as error:
            reason = getattr(error, "reason", error)
            cure = f"try `curl {url}`; this machine must be allowed to read it"
            raise self._error(f"{url} does not answer: {reason}", cure) from error

    def _counted(self, text: str, chosen: str) -> float:
        raise NotImplementedError

    def _error(self, message: str, cure: str) -> AdapterError:
        return AdapterError(message, cure=cure)


class NginxAdapter(_TextAdapter):
    """Requests by the page of `stub_status`."""

    __slots__ = ()

    def _counted(self, text: str, chosen: str) -> float:  # noqa: ARG002 - there is one counter
        found = _NGINX.search(text)
        if found is None:
            raise self._error(
                f"{self.place} is not a status page of nginx",
                "add `location = /status { stub_status; allow 127.0.0.1; deny all; }`",
            )
        return float(found[3])


class HaproxyAdapter(_TextAdapter):
    """Requests, or else sessions, of all front ends or of the one after ``#``.

    The place is the URL of the statistics as CSV, or the path of the socket of the run-time API.
    """

    __slots__ = ()

    def _own(self) -> int:
        return 0 if self.place.startswith("/") else self._asked

    def _text(self, url: str) -> str:
        if not url.startswith("/"):
            return super()._text(url)
        try:
            with socket.socket(socket.AF_UNIX) as link:
                link.settimeout(PATIENCE_S)
                link.connect(url)
                link.sendall(b"show stat\n")
                return b"".join(iter(lambda: link.recv(65536), b"")).decode(errors="replace")
        except OSError as error:
            cure = "name the socket of `stats socket`, and run as a user who may write to it"
            raise self._error(f"{url} does not answer: {error.strerror or error}", cure) from error

    def _counted(self, text: str, chosen: str) -> float:
        rows = csv.DictReader(io.StringIO(text.lstrip("# ")))
        found = [
            float(row.get("req_tot") or row.get("stot") or 0)
            for row in rows
            if row.get("svname") == "FRONTEND" and (not chosen or row.get("pxname") == chosen)
        ]
        if not found:
            raise self._error(
                f"{self.place} has no front end{f' {chosen!r}' if chosen else ''}",
                "name the statistics as CSV, such as http://127.0.0.1:8404/stats;csv",
            )
        return sum(found)


class PrometheusAdapter(_TextAdapter):
    """A counter of a text of Prometheus: ``URL#name`` or ``URL#name{label="value"}``, summed."""

    __slots__ = ()

    def _own(self) -> int:
        return 0  # Which counters count the requests for themselves is unknown.

    def _counted(self, text: str, chosen: str) -> float:
        head, _, labels = chosen.partition("{")
        wanted = dict(_LABEL.findall(labels))
        found = [value for name, own, value in samples(text) if name == head
                 and wanted.items() <= own.items()]  # fmt: skip
        if not chosen or not found:
            names = sorted({name for name, _, _ in samples(text) if name.endswith("_total")})
            raise self._error(
                f"{self.place} has no counter {chosen or 'of that name'}",
                f"write URL#NAME; it has {', '.join(names[:5]) or 'none that ends in _total'}",
            )
        return sum(found)


def samples(text: str) -> Iterator[tuple[str, dict[str, str], float]]:
    r"""Yield name, labels and value of each sample of a text of Prometheus.

    Examples
    --------
    >>> list(samples('# HELP a b\na_total{code="200",path="/}"} 3 1700000000\nb NaN\n'))
    [('a_total', {'code': '200', 'path': '/}'}, 3.0)]
    """
    for name, labels, value in _SAMPLE.findall(text):
        try:
            number = float(value)
        except ValueError:
            continue
        if math.isfinite(number):
            yield name, dict(_LABEL.findall(labels)), number
