"""`go test -bench`: lines of text; a test program that is built before starts faster."""

import re
from collections.abc import Sequence
from pathlib import Path

from headroom.gate.suites.tool import Call, Choice, Output, Sample, with_defaults

_LINE = re.compile(r"^(Benchmark\S*)\s+\d+\s+([\d.eE+-]+) ns/op", re.MULTILINE)


def call(argv: Sequence[str], scratch: Path, choice: Choice) -> Call:  # noqa: ARG001 - no file
    """Return the command for a tenth of its usual second each.

    `-bench` matches each level of a name by itself: a chosen row brings its sisters along.
    """
    dash = "-" if Path(argv[0]).name == "go" else "-test."
    tops = sorted({re.split("[/-]", name)[0] for name in choice.wanted})
    words = [word for word in argv if not (tops and word.startswith(f"{dash}bench="))]
    wanted = Choice(wanted=tops).pattern() if tops else "."
    options = {f"{dash}run": "^$", f"{dash}bench": wanted, f"{dash}benchtime": "100ms"}
    return Call(argv=with_defaults(words, options))


def samples(output: Output) -> list[Sample]:
    """Return the wall time of an operation of each benchmark."""
    return [
        Sample(name=name, metric="wall_s", value=1e-9 * float(value))
        for name, value in _LINE.findall(output.stdout)
    ]
