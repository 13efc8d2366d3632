"""Random content for what reads the files of others, led by the lines that it reaches (Atheris).

`python tests/fuzz/readers.py NAME CORPUS [libFuzzer options]`: each input is a file that a stranger
sent. It is read, or refused by a `HeadroomError`; any other exception, a hang or 2 GB ends the
search, and the input is kept.
"""

import contextlib
import io
import json
import os
import random
import re
import shutil
import sqlite3
import sys
import tempfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import atheris
import msgspec

with atheris.instrument_imports(include=["headroom"]):
    import headroom as hr
    from headroom.api.loading import load_study_folder
    from headroom.cli.output import ColorMode, result_console
    from headroom.cli.study.shown import show_saved
    from headroom.errors import HeadroomError
    from headroom.sessions.looking import looked_at

STUDY = """
schema = 1
name = "queue"
title = "Two servers"
question = "How long do visits wait?"
seed = 1

[[ask]]
kind = "limit"
question = "How much can they carry?"
experiment = "load"

[[experiment]]
name = "load"
title = "Response over load"
responses = ["response_s_mean", "throughput"]
system = { name = "model", file = "model.py", completions = 200 }
factors = { utilization = [0.3, 0.7] }
replications = { count = 2 }

[[claim]]
name = "longer"
text = "0.7 of the load: M/M/2 answers in 0.49 s"
kind = "value"
experiment = "load"
metric = "response_s_mean"
where = { utilization = 0.7 }
value = 0.49
tolerance = 0.5
published = "0.49 s"
source = "Erlang C"
"""
MODEL = """
from headroom.simulation import Model, exponential


def build(utilization: float = 0.5):
    model = Model("counter", time_unit="s")
    visit = model.program("visit")
    visit.use(model.station("server", servers=2), exponential(0.25))
    model.open_class("visits", visit, interarrival=exponential(0.125 / utilization))
    return model
"""
CELLS = (
    ("replication", "levels"), ("replication", "run"), ("replication", "seed"),
    ("replication", "error"), ("replication", "started_at"), ("replication", "wall_s"),
    ("replication", "replication"), ("replication", "state"), ("environment", "facts"),
    ("code", "content"),
)  # fmt: skip
PACKED = {"run", "content"}
POOL: tuple[Any, ...] = (
    None, True, 0, -1, 1, 2**63, -(2**63), 1e308, 1e-320, 0.5, "", "a", "\x1b[31m", "\udcff".encode(
        "utf-8", "replace").decode(), "=1+1", "../../etc", "x" * 3000, [], {}, [[]], {"": 0},
    {"a": {"b": []}}, [1, "a", None],
)  # fmt: skip


def seeds_of(name: str, folder: Path) -> list[bytes]:
    """Return the sound inputs that all begins with; `folder` becomes a study that was run."""
    (folder / "study.toml").write_text(STUDY, encoding="utf-8")
    (folder / "model.py").write_text(MODEL, encoding="utf-8")
    os.environ["CI"] = "true"  # the model is ours
    hr.run(folder)
    if name == "study":
        return [STUDY.encode()]
    if name == "stored":
        return [(folder / "results/results.json").read_bytes()]
    sound, seeds = folder / "results/sound", []
    with contextlib.closing(sqlite3.connect(folder / "results/journal.sqlite")) as connection:
        connection.execute("VACUUM INTO ?", [str(sound)])
        for number, (table, column) in enumerate(CELLS):
            (cell,) = connection.execute(f"SELECT {column} FROM {table}").fetchone()  # noqa: S608 - constants only
            whole = (
                zlib.decompress(cell) if isinstance(cell, bytes) and cell else str(cell).encode()
            )
            seeds.append(bytes([number, 0]) + whole)
    return seeds


def read_study(content: bytes, folder: Path) -> None:
    """Plan a study file."""
    (folder / "study.toml").write_bytes(content)
    with looked_at(folder, lambda _sentence: None, quick=False):
        pass


def read_stored(content: bytes, folder: Path) -> None:
    """Print stored results."""
    path = folder / "stored.json"
    path.write_bytes(content)
    with contextlib.redirect_stdout(io.StringIO()):
        console = result_console(ColorMode.NEVER)
        show_saved(path, console, quick=False, point=None, shows_all=True, as_json=False, others={})


def read_journal(content: bytes, folder: Path) -> None:
    """Show a run with one strange cell in its journal; the first bytes say which."""
    number, row, value = content[0] % len(CELLS), content[1] % 4, content[2:]
    table, column = CELLS[number]
    journal = folder / "results/journal.sqlite"
    shutil.copyfile(journal.with_name("sound"), journal)
    connection = sqlite3.connect(journal, isolation_level=None)
    with contextlib.closing(connection), contextlib.suppress(sqlite3.Error):
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("UPDATE replication SET checksum = NULL")  # as older journals have it
        place = f"rowid = (SELECT min(rowid) + {row} FROM {table})"  # noqa: S608 - constants only
        is_packed = column in PACKED
        written = zlib.compress(value, 1) if is_packed else value.decode("utf-8", "replace")
        connection.execute(f"UPDATE {table} SET {column} = ? WHERE {place}", [written])  # noqa: S608
    load_study_folder(folder)


READERS: dict[str, Callable[[bytes, Path], None]] = {
    "study": read_study, "stored": read_stored, "journal": read_journal,
}  # fmt: skip


def mutated(name: str, content: bytes, most_bytes: int, seed: int) -> bytes:
    """Return an input that differs in its structure, or now and then in its bytes."""
    draw = random.Random(seed)  # noqa: S311 - no secret
    if draw.random() < 0.3:
        return bytes(atheris.Mutate(content, most_bytes))
    if name == "study":
        return other_lines(content, draw)[:most_bytes]
    if name == "stored":
        return other_tree(content, msgspec.json, draw)[:most_bytes]
    if draw.random() < 0.3:
        return draw.randbytes(2) + content[2:]
    is_packed = CELLS[content[0] % len(CELLS)][1] in PACKED
    form = msgspec.msgpack if is_packed else msgspec.json
    return (content[:2] + other_tree(content[2:], form, draw))[:most_bytes]


def other_lines(text: bytes, draw: random.Random) -> bytes:
    """Return the text with a line removed, repeated, moved, or with another value in it."""
    lines = text.decode("utf-8", "replace").splitlines() or [""]
    at = draw.randrange(len(lines))
    values = re.findall(r"[\w.]+|\"[^\"]*\"|\[[^\]]*\]|\{[^}]*\}", lines[at])
    match draw.randrange(4):
        case 0:
            lines.insert(draw.randrange(len(lines)), lines.pop(at))
        case 1:
            lines.insert(at, lines[draw.randrange(len(lines))])
        case _ if values:
            other = json.dumps(draw.choice(POOL)) if draw.random() < 0.7 else draw.choice(values)
            lines[at] = lines[at].replace(draw.choice(values), other, 1)
        case _:
            del lines[at]
    return "\n".join(lines).encode()


def other_tree(content: bytes, form: Any, draw: random.Random) -> bytes:
    """Return a tree with another value, one from elsewhere, or none, at a random place."""
    try:
        tree = form.decode(content)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return bytes(atheris.Mutate(content, len(content) + 100))
    places: list[tuple[Any, Any]] = []
    waiting = [tree]
    while waiting:
        held = waiting.pop()
        if isinstance(held, dict | list):
            inner = list(held.items() if isinstance(held, dict) else enumerate(held))
            places += ((held, key) for key, _ in inner)
            waiting += (value for _, value in inner)
    if not places:
        return bytes(form.encode(draw.choice(POOL)))
    held, key = draw.choice(places)
    if draw.random() < 0.15:
        del held[key]
    else:
        elsewhere, other = draw.choice(places)
        is_new = draw.random() < 0.6
        held[key] = draw.choice(POOL) if is_new else form.decode(form.encode(elsewhere[other]))
    try:
        return bytes(form.encode(tree))
    except (OverflowError, RecursionError):  # a number that the form has no room for
        return content


def main(name: str, corpus: Path, options: list[str]) -> None:
    """Search until libFuzzer's options end it."""
    folder = Path(tempfile.mkdtemp())
    corpus.mkdir(exist_ok=True)
    read = READERS[name]
    with atheris.instrument_imports(include=["headroom"]):  # what is loaded only when it is called
        for number, sound in enumerate(seeds_of(name, folder)):
            read(sound, folder)
            (corpus / f"sound{number}").write_bytes(sound)

    def one(content: bytes) -> None:
        if name == "journal" and len(content) < 3:
            return
        with contextlib.suppress(HeadroomError):
            read(content, folder)

    def change(content: bytes, most_bytes: int, seed: int) -> bytes:
        return mutated(name, content, most_bytes, seed)

    atheris.Setup([sys.argv[0], str(corpus), *options], one, custom_mutator=change)
    atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3:])
