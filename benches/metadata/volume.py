"""Catalogues of two sizes: entries are copied into the tables in the form that a server stores.

A server makes one directory and one entry. Their rows are the patterns of all others, so nothing
here knows the tables: each column that holds the pattern's own value gets another one, the rest is
copied. Queries then find every GUID by way of the server, or the benchmark fails.
"""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benches.metadata.site import Site, point, programs
from headroom.recording.programs import LoadPrograms
from headroom.recording.services.kinds import folder_of_programs
from headroom.recording.services.table import ServiceTable
from headroom.systems.catalogue.command import companion
from headroom.systems.catalogue.measured.client import AmgaClient
from headroom.systems.catalogue.measured.jobs import KNOWN_PREFIX, load_jobs
from headroom.systems.catalogue.measured.services import HOST, LOAD, USER
from headroom.systems.catalogue.model import LASTING

PER_DIRECTORY = 100
RATE_PER_S = 1000.0
SECONDS = 8.0
CONNECTIONS = 16
_TOUR_CLIENTS = 8
_BLOCK = 500_000
_MARK = "0" * 31 + "1"
_DIRECTORIES = """\
insert into directory select (jsonb_populate_record(pattern,
  jsonb_build_object('id', pattern.id + number, 'path', '/bench/' || to_hex(number)))).*
from directory as pattern, generate_series(1, {last}) as number where pattern.path = '/bench/0'"""
_PATTERN = "select jsonb_strip_nulls(to_jsonb(one)) from entry as one where name = 'pattern'"


@dataclass(frozen=True, slots=True)
class Volume:
    """A server with its own database of as many entries.

    Parameters
    ----------
    name
        Of the server and of its database.
    """

    place: Site
    name: str
    entries: int

    def make(self) -> None:
        """Make database, server, directories and entries."""
        self.place.make_database(self.name)
        self.place.ensure([self.place.server_table(self.name, database=self.name)])
        with AmgaClient(HOST, int(self.place.words[f"{self.name}.port"]), login=USER) as client:
            client.command("createdir /bench", accepted=(0,))
            client.command("createdir /bench/0", accepted=(0,))
            client.command("addattr /bench/0 guid varchar(36)", accepted=(0,))
            client.command(f"addentry /bench/0/pattern guid {_MARK}", accepted=(0,))
        last = (self.entries - 1) // PER_DIRECTORY
        self._psql(_DIRECTORIES.format(last=last))
        self._fill(json.loads(self._psql(_PATTERN)))
        self._psql("vacuum (freeze, analyze)")

    def p99_s(self, seed: int) -> float:
        """Return the 99th percentile (s) of the response times of queries at a moderate rate."""
        load = {"rate_per_s": RATE_PER_S, "clients": CONNECTIONS}
        result = self._queried(seed, SECONDS, load)
        return percentile_s(result["histograms"]["response_s"]["query"], 0.99)

    def tour(self, seconds: float) -> None:
        """Query as fast as possible, so that the server and the system meet many directories."""
        self._queried(0, seconds, {"clients": _TOUR_CLIENTS})

    def _queried(self, seed: int, seconds: float, load: dict[str, Any]) -> dict[str, Any]:
        (job,) = load_jobs(
            point(case=LASTING, form="single", **load),
            seed=seed,
            addresses=[self.place.address(self.name)],
            certificates=self.place.certificates,
            statements={},
            known=self.entries,
            seconds=seconds,
            new_prefix="",
        )
        job["entries"]["per_directory"] = PER_DIRECTORY
        with LoadPrograms([str(companion(LOAD)), "--wait", "-"], [job]) as programs:
            result = programs.run()
        if result["failures"] or result["problem"]:
            raise RuntimeError(f"the queries failed: {result['problem']} {result['failures']}")
        return result

    def _fill(self, pattern: dict[str, Any]) -> None:
        names = ", ".join(pattern)
        begun_s = time.monotonic()
        with subprocess.Popen(
            self._client(f"copy entry ({names}) from stdin"), stdin=subprocess.PIPE, text=True
        ) as copy:
            if copy.stdin is None:
                raise AssertionError("the pipe is requested")
            for first in range(0, self.entries, _BLOCK):
                count = min(_BLOCK, self.entries - first)
                copy.stdin.writelines(lines(pattern, first, count))
                passed_s = time.monotonic() - begun_s
                print(f"   {first + count:,} entries, {passed_s:.0f} s", file=sys.stderr)
        if copy.returncode:
            raise RuntimeError("the entries could not be copied into the database")

    def _client(self, statement: str) -> list[str]:
        packaged = ServiceTable(name="db", kind="postgres")
        program = (programs() or Path(folder_of_programs(packaged))) / "psql"
        port = self.place.words["db.port"]
        return [
            str(program), "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", HOST, "-p", port,
            "-U", "headroom", "-d", self.name, "-c", statement,
        ]  # fmt: skip

    def _psql(self, statement: str) -> str:
        return subprocess.run(
            self._client(statement), check=True, capture_output=True, text=True
        ).stdout.strip()


def lines(pattern: dict[str, Any], first: int, count: int) -> Iterator[str]:
    r"""Yield the lines of COPY for `count` entries from the number `first` on.

    Parameters
    ----------
    pattern
        Columns of an entry of the first directory: its directory's number, its name, its GUID.

    Examples
    --------
    >>> list(lines({"dir": 7, "name": "pattern", "owner": "root", "t0": _MARK}, 200, 1))
    ['9\tknown-c8\troot\tb485f15a1b61e3281f4d52da3acd36aa\n']
    """
    guids = guids_of(first, count)
    texts = {name: str(value) for name, value in pattern.items()}
    (guid,) = [name for name, value in texts.items() if value == _MARK]
    first_directory = int(texts["dir"])
    for place in range(count):
        number = first + place
        texts["dir"] = str(first_directory + number // PER_DIRECTORY)
        texts["name"] = f"{KNOWN_PREFIX}{number:x}"
        texts[guid] = guids[32 * place : 32 * place + 32]
        yield "\t".join(texts.values()) + "\n"


def guids_of(first: int, count: int) -> str:
    """Return the GUIDs that the load expects of entries, one after the other, 32 digits each.

    `service/src/load/script.rs` makes them from the finaliser of SplitMix64.
    """
    numbers = np.arange(first, first + count, dtype=np.uint64)
    both = np.stack([_mix(numbers), _mix(~numbers)], axis=1)
    return both.astype(">u8").tobytes().hex()


def _mix(value: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58_476D_1CE4_E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D0_49BB_1331_11EB)
    return value ^ (value >> np.uint64(31))


def percentile_s(histogram: dict[str, Any], share: float) -> float:
    """Return the time (s) that a share of the observations does not exceed.

    Parameters
    ----------
    histogram
        Of the load: `counts` has shape (segments, bins). Within a bin the times are taken to be
        spread evenly.

    Examples
    --------
    >>> bins = {"bin_low": [0.0, 1.0], "bin_high": [1.0, 2.0], "counts": [[2, 0], [1, 1]]}
    >>> percentile_s(bins, 0.5), percentile_s(bins, 0.875)
    (0.6666666666666666, 1.5)
    """
    counts = np.asarray(histogram["counts"]).sum(axis=0)
    below = np.cumsum(counts)
    wanted = share * below[-1]
    place = int(np.searchsorted(below, wanted))
    low, high = histogram["bin_low"][place], histogram["bin_high"][place]
    inside = (wanted - (below[place] - counts[place])) / counts[place]
    return float(low + (high - low) * inside)
