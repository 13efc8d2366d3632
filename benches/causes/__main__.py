"""`headroom what-limits` against servers whose bottleneck is known by construction.

`python -m benches.causes --servers 60` makes servers from seeds, every second one beside a
neighbour that computes all the time on one processor, asks what limits each, adds the answers to
`benches/results/causes.json` and prints the table; `--table` prints the stored one. The part that
limits has at most half of the capacity of any other.
"""

import argparse
import contextlib
import json
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from headroom.experiment.study.file.study_file import load_study
from headroom.gate.compare import silent
from headroom.gate.slowed_arms import WhatLimits, causes_of
from headroom.sessions.study_session import point_key

HERE = Path(__file__).resolve().parent
RESULTS = HERE.parent / "results" / "causes.json"
KINDS = ("web", "db", "program", "db waits", "tokens", "db.limit")
"""What limits: a part's work, a lock that is held while waiting, a pool, a quota."""
RUNS = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A server made from a seed."""

    seed: int
    kind: str
    settings: dict[str, float]
    less: tuple[str, ...]
    has_neighbour: bool

    @property
    def truth(self) -> str:
        """The part, or the parameter, that limits."""
        return self.kind.removesuffix(" waits")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What was said of one server."""

    seed: int
    truth: str
    kind: str
    has_neighbour: bool
    verdict: str
    named: list[str]
    by_waiting: bool
    share: float | None
    machine: float | None

    @property
    def result(self) -> str:
        """Right, wrong or undecided; on a full machine a part of its processors is undecided."""
        if self.verdict != "part":
            return "undecided"
        is_right = self.named == [self.truth] and self.by_waiting == self.kind.endswith(" waits")
        return "right" if is_right else "wrong"


def drawn(seed: int) -> Server:
    """Return the server of a seed: each kind in turn, with and without a neighbour."""
    draw = random.Random(seed)  # noqa: S311 - no secret
    kind = KINDS[seed // 2 % len(KINDS)]
    slow, fast = draw.uniform(2.0, 4.0), draw.uniform(0.05, 0.3)
    settings = {"web_ms": fast, "db_ms": fast, "client_ms": 0.0, "users": draw.choice([8, 12, 16])}
    less: tuple[str, ...] = ()
    if kind in {"web", "db"}:
        settings[f"{kind}_ms"] = slow
    elif kind == "program":
        settings["client_ms"] = slow
    elif kind == "db waits":
        settings |= {"hold_ms": draw.uniform(3.0, 6.0), "tokens": 1}
    elif kind == "tokens":
        tokens = draw.choice([5, 6])
        settings |= {"hold_ms": draw.uniform(2.0, 4.0) * tokens, "tokens": tokens, "users": 24}
        less = ("tokens",)
    else:
        settings["db_ms"] = slow
    return Server(seed=seed, kind=kind, settings=settings, less=less, has_neighbour=seed % 2 == 1)


@contextlib.contextmanager
def neighbour(*, is_there: bool) -> Iterator[None]:
    """Compute all the time beside what is measured."""
    if not is_there:
        yield
        return
    hog = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        yield
    finally:
        hog.kill()
        hog.wait()


def asked(server: Server) -> Answer:
    """Return what Headroom says of a server."""
    with tempfile.TemporaryDirectory() as name, neighbour(is_there=server.has_neighbour):
        folder = Path(name) / "study"
        shutil.copytree(HERE, folder, ignore=shutil.ignore_patterns("__*"))
        if server.kind == "db.limit":
            study = folder / "study.toml"
            text = study.read_text("utf-8")
            study.write_text(
                text.replace('name = "db"\n', 'name = "db"\nlimits = { cpus = 0.5 }\n')
            )
        users = int(server.settings["users"])
        settings = [f"{k}={v}" for k, v in server.settings.items() if k != "users"]
        settings.append(f"experiment.factors.users=[{users}]")
        journals = Path(name) / "journals"
        journals.mkdir()
        found = causes_of(
            load_study(folder, settings), journals, WhatLimits(runs=RUNS, less=server.less),
            point_key=point_key, new_progress=silent,
        )  # fmt: skip
    share = next((one.share for one in found.shares if [one.part] == found.named), None)
    return Answer(
        seed=server.seed, truth=server.truth, kind=server.kind, named=found.named,
        has_neighbour=server.has_neighbour, verdict=found.verdict, by_waiting=found.by_waiting,
        share=share, machine=found.machine,
    )  # fmt: skip


def table(answers: Sequence[Answer]) -> str:
    """Return the table of answers by what limits.

    Examples
    --------
    >>> one = Answer(seed=0, truth="db", kind="db", has_neighbour=False, verdict="part",
    ...     named=["db"], by_waiting=False, share=0.97, machine=0.6)
    >>> print(table([one]))
    | limit | servers | right | undecided | wrong | right beside a neighbour |
    | --- | --- | --- | --- | --- | --- |
    | db | 1 | 1 | 0 | 0 | 0 of 0 |
    | all | 1 | 1 | 0 | 0 | 0 of 0 |
    """
    lines = [
        "| limit | servers | right | undecided | wrong | right beside a neighbour |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for kind in [*(kind for kind in KINDS if any(one.kind == kind for one in answers)), "all"]:
        some = [one for one in answers if kind in {one.kind, "all"}]
        counts = [
            sum(one.result == word for one in some) for word in ("right", "undecided", "wrong")
        ]
        beside = [one for one in some if one.has_neighbour]
        right = sum(one.result == "right" for one in beside)
        cells = [kind, len(some), *counts, f"{right} of {len(beside)}"]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


def stored() -> list[Answer]:
    """Return the answers so far."""
    content: list[dict[str, Any]] = (
        json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else []
    )
    return [Answer(**one) for one in content]


def main(arguments: Sequence[str]) -> int:
    """Ask, store, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--servers", type=int, default=0, help="how many")
    parser.add_argument("--first", type=int, default=0, help="seed of the first")
    parser.add_argument("--table", action="store_true", help="print the stored answers")
    given = parser.parse_args(arguments)
    answers = {one.seed: one for one in stored()}
    for seed in range(given.first, given.first + given.servers):
        answers[seed] = asked(drawn(seed))
        print(answers[seed], answers[seed].result, flush=True)
        RESULTS.write_text(json.dumps([asdict(one) for one in answers.values()], indent=1) + "\n")
    print(table(list(answers.values())))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
