"""Find phrases that read as translated: `python -m scripts.prose` lists them, `make test` counts.

`scripts/phrases.txt` has the phrases, `CEILINGS` the hits per 1,000 words that pages and messages
may have.
"""

import ast
import re
import sys
import tomllib
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from scripts.documents import ROOT, pages

Kind: TypeAlias = Literal["page", "message"]

PHRASES = ROOT / "scripts" / "phrases.txt"
SOURCE = ROOT / "src"

CEILINGS: dict[Kind, float] = {"page": 0.5, "message": 1.0}
"""Most hits per 1,000 words. Lower them, never raise them."""

NOT_YET_REWRITTEN = {"ARCHITECTURE.md": 11}
"""Page -> hits that it still has; a page that is rewritten leaves this list."""

FEWEST_WORDS_OF_A_MESSAGE = 3
RUST = re.compile(r'//[^\n]*|"(?P<text>(?:[^"\\]|\\.)*)"', re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Phrase:
    """A phrase to avoid, and what to write instead."""

    pattern: re.Pattern[str]
    suggestion: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A piece of prose: a paragraph, a list item, a table cell or a message, and its first line."""

    kind: Kind
    lines: tuple[str, ...]
    line: int

    @property
    def text(self) -> str:
        """The passage on one line, inline code as one token."""
        joined = " ".join(line.strip() for line in self.lines)
        return re.sub(r"`+[^`]*`+", "`code`", joined).strip()

    def line_of(self, offset: int) -> int:
        """Return the line of a character of `text`, to within a line with inline code."""
        seen = 0
        for number, line in enumerate(self.lines):
            seen += len(re.sub(r"`+[^`]*`+", "`code`", line.strip())) + 1
            if offset < seen:
                return self.line + number
        return self.line


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A phrase that was found, and where."""

    path: Path
    line: int
    found: str
    suggestion: str
    kind: Kind

    def __str__(self) -> str:
        """Return the hit as compilers print it."""
        place = f"{self.path.relative_to(ROOT)}:{self.line}"
        return f'{place}: "{self.found}": {self.suggestion}'


def read_phrases() -> list[Phrase]:
    """Return the phrases of `scripts/phrases.txt`."""
    lines = PHRASES.read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines if line and not line.startswith("#")]
    return [
        Phrase(pattern=re.compile(pattern, re.IGNORECASE), suggestion=suggestion)
        for pattern, suggestion in rows
    ]


def markdown_passages(text: str, first_line: int = 1) -> Iterator[Passage]:
    r"""Yield the paragraphs, list items and table cells of a page; headings and code are skipped.

    Examples
    --------
    >>> page = "# Title\n\nOne\nparagraph.\n\n- an item\n\n```\ncode\n```\n| a | b |\n|---|---|\n"
    >>> [(p.text, p.line) for p in markdown_passages(page)]
    [('One paragraph.', 3), ('an item', 6), ('a', 11), ('b', 11)]
    """
    open_lines: list[str] = []
    start = first_line
    for number, stripped in _lines_outside_fences(text, first_line):
        item = re.match(r"([-*]|\d+\.)\s+", stripped)
        is_prose = bool(stripped) and not stripped.startswith(("#", "|", "<", ">>>"))
        if open_lines and (item or not is_prose):
            yield Passage(kind="page", lines=tuple(open_lines), line=start)
            open_lines = []
        if stripped.startswith("|"):
            for cell in re.split(r"(?<!\\)\|", stripped.strip("|")):
                yield Passage(kind="page", lines=(cell,), line=number)
        elif is_prose:
            start = start if open_lines else number
            open_lines.append(stripped[item.end() :] if item else stripped)
    if open_lines:
        yield Passage(kind="page", lines=tuple(open_lines), line=start)


def _lines_outside_fences(text: str, first_line: int) -> Iterator[tuple[int, str]]:
    """Yield number and stripped text of each line; those of fenced code are empty."""
    fence = ""
    for number, line in enumerate(text.splitlines(), start=first_line):
        stripped = line.strip()
        if not fence and stripped.startswith("```"):
            fence = re.match("`+", stripped)[0]  # type: ignore[index]  # it starts with ```
            yield number, ""
        elif fence:
            fence = "" if stripped == fence else fence
            yield number, ""
        else:
            yield number, "" if re.fullmatch(r"\|[|\s:-]+", stripped) else stripped


def python_passages(text: str) -> Iterator[Passage]:
    r"""Yield the messages of a module.

    Examples
    --------
    >>> module = '"Doc."\n# one\nraise ValueError(f"the level {x} is wrong")\n'
    >>> [(p.kind, p.text, p.line) for p in python_passages(module)]
    [('message', 'the level {} is wrong', 3)]
    """
    for node in _statements_and_strings(ast.parse(text)):
        string = _string_of(node)
        if string is None or isinstance(node, ast.Expr):
            continue
        if len(string.split()) >= FEWEST_WORDS_OF_A_MESSAGE:
            yield Passage(kind="message", lines=(string,), line=node.lineno)


def _statements_and_strings(tree: ast.AST) -> Iterator[Any]:
    """Yield strings that are statements, and all other strings, each of them once."""
    waiting: deque[ast.AST] = deque([tree])
    while waiting:
        node = waiting.popleft()
        if _string_of(node) is None:
            waiting += ast.iter_child_nodes(node)
        else:
            yield node


def _string_of(node: ast.AST) -> str | None:
    match node:
        case (
            ast.Expr(value=ast.Constant(value=str() as string))
            | ast.Constant(value=str() as string)
        ):
            return string
        case ast.JoinedStr(values=values):
            return "".join(str(v.value) if isinstance(v, ast.Constant) else "{}" for v in values)
    return None


def rust_passages(text: str) -> Iterator[Passage]:
    r"""Yield the messages of a Rust file, its tests left out.

    Examples
    --------
    >>> source = '/// A "quoted set of words".\nfn f() { panic!("it is not there") }\n'
    >>> [(p.kind, p.text, p.line) for p in rust_passages(source)]
    [('message', 'it is not there', 2)]
    """
    for match in RUST.finditer(text.partition("#[cfg(test)]")[0]):
        if match["text"] and len(match["text"].split()) >= FEWEST_WORDS_OF_A_MESSAGE:
            line = text.count("\n", 0, match.start()) + 1
            yield Passage(kind="message", lines=(match["text"].replace("\\\n", " "),), line=line)


def toml_passages(text: str) -> Iterator[Passage]:
    """Yield the descriptions of a TOML file: reports print them."""
    for string in _strings_of(tomllib.loads(text)):
        if len(string.split()) >= FEWEST_WORDS_OF_A_MESSAGE:
            line = text.partition(string.partition("\n")[0])[0].count("\n") + 1
            yield Passage(kind="message", lines=(string,), line=line)


def _strings_of(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _strings_of(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings_of(inner)


def passages(path: Path) -> list[Passage]:
    """Return the prose of a file; the messages of a test are not read by users."""
    readers = {".md": markdown_passages, ".py": python_passages, ".rs": rust_passages}
    reader = readers.get(path.suffix, toml_passages)
    prose = list(reader(path.read_text(encoding="utf-8")))
    is_test = path.name.startswith(("test_", "conftest")) or "tests" in path.parts
    return [passage for passage in prose if not (is_test and passage.kind == "message")]


def hits(path: Path, prose: Iterable[Passage], phrases: Iterable[Phrase]) -> Iterator[Hit]:
    """Yield the phrases in the passages of a file, in the order of its lines."""
    for passage in prose:
        text = passage.text
        for phrase in phrases:
            for match in phrase.pattern.finditer(text):
                yield Hit(
                    path=path,
                    line=passage.line_of(match.start()),
                    found=match[0].strip(" .;:,"),
                    suggestion=phrase.suggestion,
                    kind=passage.kind,
                )


def words(prose: Iterable[Passage]) -> int:
    """Return the number of words of the passages."""
    return sum(len(passage.text.split()) for passage in prose)


def source_files() -> list[Path]:
    """Return the files of `src` that hold prose for users or readers of the code."""
    kept = [path for suffix in ("py", "rs", "toml") for path in SOURCE.rglob(f"*.{suffix}")]
    return sorted(path for path in kept if "vendor" not in path.parts)


def rate(hit_count: int, word_count: int) -> float:
    """Return the hits per 1,000 words."""
    return 1000 * hit_count / word_count if word_count else 0.0


def allowed_hits(page: Path, word_count: int) -> int:
    """Return the hits that a page may have: one, or as many as the ceiling gives its words."""
    by_rate = int(CEILINGS["page"] * word_count / 1000)
    return NOT_YET_REWRITTEN.get(page.relative_to(ROOT).as_posix(), max(1, by_rate))


def main(arguments: list[str]) -> int:
    """Print the hits of the files named, or of all pages and all messages, and the rates."""
    phrases = read_phrases()
    chosen = [Path(name).resolve() for name in arguments]
    hit_counts: Counter[Kind] = Counter()
    word_counts: Counter[Kind] = Counter()
    for path in chosen or [*pages(), *source_files()]:
        prose = passages(path)
        for hit in hits(path, prose, phrases):
            print(hit)
            hit_counts[hit.kind] += 1
        for passage in prose:
            word_counts[passage.kind] += words([passage])
    for kind, count in word_counts.items():
        hit_rate = rate(hit_counts[kind], count)
        print(
            f"{kind}s: {hit_counts[kind]} in {count:,} words, {hit_rate:.2f} per 1,000 "
            f"(ceiling {CEILINGS[kind]:g})"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
