"""Weigh the code: `python -m scripts.weight` prints the lines of each part.

Source, tests, and the comments and docstrings among them.
`--since REVISION` prints what a change has added to each part instead, or taken away.
"""

import argparse
import io
import re
import subprocess
import sys
import tarfile
import tempfile
import tokenize
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Literal, TypeAlias

ROOT = Path(__file__).resolve().parent.parent
Language: TypeAlias = Literal["Python", "Rust"]

TESTS_IN_RUST = re.compile(r"^#\[cfg\(test\)\]\n(?:#\[.*\]\n)*mod \w+ \{.*?^\}$", re.M | re.S)
LAYERS = ("src/headroom/systems/", "src/headroom/")
"""Folders whose folders are parts; elsewhere the first folder is one."""


@dataclass(slots=True)
class Weight:
    """Lines of a part."""

    source: int = 0
    tests: int = 0
    comments: int = 0

    def add(self, lines: int, comments: int, *, is_test: bool) -> None:
        """Add the lines of a file, with the comments among them."""
        if is_test:
            self.tests += lines
        else:
            self.source += lines
        self.comments += comments


def part_of(path: str) -> str:
    """Return the part to which a file belongs.

    Examples
    --------
    >>> part_of("src/headroom/systems/storage/engine/target.rs"), part_of("src/headroom/units.py")
    ('systems/storage', '(top)')
    >>> part_of("src/headroom/report/page.py"), part_of("tests/test_docs.py")
    ('report', 'tests')
    """
    for layer in LAYERS:
        if path.startswith(layer):
            folder, _, rest = path.removeprefix(layer).partition("/")
            name = folder if rest else "(top)"
            return f"systems/{name}" if "systems" in layer else name
    return path.partition("/")[0]


def weighed(text: str, language: Language) -> tuple[int, int]:
    r"""Return the lines of a file, and how many of them are comments.

    Examples
    --------
    >>> weighed("'''A doc\nstring.'''\n\nx = 1  # why\n# note\n", "Python")
    (5, 3)
    >>> weighed("/// Doc.\nfn f() {}\n", "Rust")
    (2, 1)
    """
    lines = text.splitlines()
    if language == "Rust":
        return len(lines), sum(line.lstrip().startswith("//") for line in lines)
    return len(lines), len(set(_comment_lines(text)))


def _comment_lines(text: str) -> Iterator[int]:
    """Yield the lines of docstrings and of comments that stand alone."""
    is_first = True
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT and token.line.lstrip().startswith("#"):
            yield token.start[0]
        elif token.type == tokenize.STRING and is_first:
            yield from range(token.start[0], token.end[0] + 1)
        if token.type not in {tokenize.COMMENT, tokenize.NL}:
            is_first = token.type in {tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}


def weights(root: Path, files: list[str]) -> dict[Language, dict[str, Weight]]:
    """Return the weight of each part of a tree."""
    found: dict[Language, dict[str, Weight]] = {
        "Python": defaultdict(Weight),
        "Rust": defaultdict(Weight),
    }
    for name in files:
        path = root / name
        if path.suffix not in {".py", ".rs"} or not path.is_file():
            continue
        text = path.read_text(encoding="utf-8")
        is_test = path.name.startswith(("test_", "tests")) or "tests" in Path(name).parts
        if path.suffix == ".py":
            weight = found["Python"][part_of(name)]
            weight.add(*weighed(text, "Python"), is_test=is_test)
        else:
            weight = found["Rust"][part_of(name)]
            within = "\n".join(TESTS_IN_RUST.findall(text))
            weight.add(*weighed(within, "Rust"), is_test=True)
            weight.add(*weighed(TESTS_IN_RUST.sub("", text), "Rust"), is_test=is_test)
    return found


def weights_at(revision: str) -> dict[Language, dict[str, Weight]]:
    """Return the weight of each part at a revision."""
    packed = subprocess.run(["git", "archive", revision], cwd=ROOT, check=True, capture_output=True)
    with (
        tempfile.TemporaryDirectory() as folder,
        tarfile.open(fileobj=io.BytesIO(packed.stdout)) as archive,
    ):
        archive.extractall(folder, filter="data")
        return weights(Path(folder), archive.getnames())


def table(now: dict[str, Weight], before: dict[str, Weight] | None) -> Iterator[str]:
    """Yield a line for each part, the heaviest first, and their sum; of changes if asked for."""
    names = sorted({*now, *(before or {})})
    rows = [
        (name, [
            mine - theirs
            for mine, theirs in zip(
                astuple(now.get(name, Weight())),
                astuple((before or {}).get(name, Weight())),
                strict=True,
            )
        ])
        for name in names
    ]  # fmt: skip
    rows.sort(key=lambda row: -abs(row[1][0] + row[1][1]))
    rows.append(("all", [sum(column) for column in zip(*(row[1] for row in rows), strict=True)]))
    sign = "+" if before is not None else ""
    for name, numbers in rows:
        if any(numbers):
            cells = [sum(numbers[:2]), *numbers]
            yield f"{name:24}" + "".join(f"{number:>{sign}11,}" for number in cells)


def main() -> int:
    """Print the weights, or the changes since a revision."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--since", metavar="REVISION", help="print what has changed since")
    asked = parser.parse_args()
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True, text=True)
    now = weights(ROOT, names.stdout.splitlines())
    before = weights_at(asked.since) if asked.since else None
    for language, parts in now.items():
        heads = ("lines", "source", "tests", "comments")
        print(f"{language:24}" + "".join(f"{head:>11}" for head in heads))
        print("\n".join(table(parts, before[language] if before else None)), end="\n\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
