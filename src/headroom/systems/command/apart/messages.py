"""Messages between the host of the load and the hosts of its services: plain data."""

from typing import Literal

import msgspec

from headroom.experiment.protocol.system import Value


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """A request to the host of services."""

    what: Literal["find", "start", "begin", "check", "end", "observe", "logs", "end_of_run"]
    config: dict[str, Value] = {}
    seed: int = 0
    service: str = ""
    """The service to start."""
    words: dict[str, str] = {}
    """Placeholders of services that run already."""
    throughput: float | None = None
    """Operations per second of the run, for metrics per operation."""


class Answer(msgspec.Struct, kw_only=True):
    """The answer: the requested field, or an error."""

    words: dict[str, str] = {}
    found: str = ""
    run: bytes = b""
    """The observations, as an encoded run."""
    logs: dict[str, bytes] = {}
    error: str = ""
    cure: str = ""
