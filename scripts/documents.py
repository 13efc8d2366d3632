"""Read the Markdown documents, run their examples, and bring their printed output up to date.

The first word and the settings of a fenced block determine how it is handled:

=========================================== =====================================================
```` ```python ````                         runs; one namespace per page; lines with ``>>>`` are
                                            compared with what they print
```` ```console ````                        each line ``$ command`` runs in the page's folder;
                                            `make` and `git` are only looked at
```` ```console exit=2 ````                 the last command ends with that code instead of 0
```` ```console output=compared ````        its output follows and is compared
```` ```console output=example ````         its output differs by machine and is only refreshed
```` ```console run-by=docs/a.md ````        not run again: that page runs the same commands, or
                                            `run-by=tests/test_a.py::test_b` does what they do
```` ```toml ````                           parses; with ``schema = 1`` it loads as a study
```` ```json ````                           parses
any with ``file=first/study.toml``          is written there instead, for the commands that follow
=========================================== =====================================================

Each page runs in an empty folder with a copy of `studies/`, from top to bottom.
"""

import doctest
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import chdir
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headroom.experiment.study.file.study_file import load_study

ROOT = Path(__file__).resolve().parent.parent
COMMAND_LIMIT_S = 1100.0
"""A command that never ends is a failure. Less than `faulthandler_timeout`; no measure of speed:
an example of 100 s of processor time took over 300 s on a machine that others used too."""
NOT_EXECUTED = {"make", "git"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A fenced block: language, settings, content, and the line (from 1) of its content."""

    language: str
    settings: dict[str, str]
    content: str
    line: int


@dataclass(slots=True, kw_only=True)
class PageRun:
    """State shared by the examples of one page: their folder and the names of the Python blocks."""

    page: Path
    folder: Path
    names: dict[str, Any] = field(default_factory=lambda: {"__name__": "__example__"})


class ExampleError(Exception):
    """An example of a document does not do what the document says."""


def pages() -> list[Path]:
    """Return every Markdown page that a reader sees, sorted."""
    top = [ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")]
    below = [*ROOT.glob("docs/**/*.md"), *ROOT.glob("studies/*/README.md")]
    below += ROOT.glob("src/headroom/systems/*/README.md")
    return [*top, *sorted(below)]


def blocks(text: str) -> Iterator[Block]:
    r"""Yield the fenced blocks of a page.

    Examples
    --------
    >>> block, = blocks("Text\n```console exit=2\n$ headroom run nowhere\n```\n")
    >>> block.language, block.settings, block.content, block.line
    ('console', {'exit': '2'}, '$ headroom run nowhere\n', 3)
    """
    fence = ""
    start = 0
    lines = text.splitlines(keepends=True)
    for index, line in enumerate(lines):
        stripped = line.strip()
        if not fence and stripped.startswith("```"):
            fence = re.match("`+", stripped)[0]  # type: ignore[index]  # it starts with ```
            start = index
        elif fence and stripped == fence:
            words = lines[start].strip().lstrip("`").split() or [""]
            settings = dict(word.split("=", 1) for word in words[1:] if "=" in word)
            content = "".join(lines[start + 1 : index])
            yield Block(language=words[0], settings=settings, content=content, line=start + 2)
            fence = ""


def prose(text: str) -> str:
    """Return a page without its fenced blocks, inline code and comments; lines stay in place."""
    fence = ""
    kept = []
    for line in text.splitlines():
        stripped = line.strip()
        if not fence and stripped.startswith("```"):
            fence = re.match("`+", stripped)[0]  # type: ignore[index]
            kept.append("")
        elif fence:
            fence = "" if stripped == fence else fence
            kept.append("")
        else:
            kept.append(re.sub(r"`[^`]*`", "``", line))
    return re.sub(r"<!--.*?-->", "", "\n".join(kept), flags=re.DOTALL)


def links(text: str) -> list[str]:
    """Return the targets of the links and pictures of a page.

    Examples
    --------
    >>> links('See [the guide](guides/a.md#part) and `[not](this)` <img src="p.png">')
    ['guides/a.md#part', 'p.png']
    """
    shown = prose(text)
    in_markdown = re.findall(r"\]\(<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\)", shown)
    return in_markdown + re.findall(r"\b(?:src|srcset|href)=\"([^\"]+)\"", shown)


def anchors(text: str) -> set[str]:
    r"""Return the anchors of the headings of a page, as GitHub makes them.

    Examples
    --------
    >>> sorted(anchors("# A study, in *short*\n## Run `it`\n## Run it\n"))
    ['a-study-in-short', 'run-it', 'run-it-1']
    """
    seen: dict[str, int] = {}
    result = set()
    without_blocks = re.sub(r"^(`{3,}).*?^\1\s*$", "", text, flags=re.DOTALL | re.MULTILINE)
    for title in re.findall(r"^#{1,6}\s+(.*?)\s*#*$", without_blocks, flags=re.MULTILINE):
        slug = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
        count = seen.get(slug, 0)
        seen[slug] = count + 1
        result.add(f"{slug}-{count}" if count else slug)
    return result


def start_page(page: Path, folder: Path) -> PageRun:
    """Return a page's run in `folder`, which gets a copy of the studies without results."""
    shutil.copytree(
        ROOT / "studies",
        folder / "studies",
        ignore=shutil.ignore_patterns("results", "__pycache__", "test_*.py"),
        dirs_exist_ok=True,
    )
    return PageRun(page=page, folder=folder)


def run_block(run: PageRun, block: Block) -> str | None:
    """Run a block; return what a console block should contain, None for the others."""
    if "file" in block.settings:
        target = run.folder / block.settings["file"]
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(block.content, encoding="utf-8")
    elif block.language == "python":
        with chdir(run.folder):
            _run_python(run, block)
    elif block.language == "toml":
        _check_toml(run, block)
    elif block.language == "json":
        json.loads(block.content)
    elif "run-by" in block.settings:
        _check_run_by(block)
    elif block.language == "console":
        return _run_console(run, block)
    return None


def _run_python(run: PageRun, block: Block) -> None:
    place = f"{run.page.relative_to(ROOT)}, line {block.line}"
    if ">>>" not in block.content:
        code = compile("\n" * (block.line - 1) + block.content, str(run.page), "exec")
        exec(code, run.names)  # noqa: S102  # an example of our own documents
        return
    example = doctest.DocTestParser().get_doctest(
        block.content, run.names, place, str(run.page), block.line - 1
    )
    said: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(
        example, out=said.append, clear_globs=False
    )
    run.names.update(example.globs)
    if said:
        raise ExampleError("".join(said))


def _check_toml(run: PageRun, block: Block) -> None:
    document = tomllib.loads(block.content)
    if "schema" not in document:
        return
    folder = run.folder / f"block-at-line-{block.line}"
    folder.mkdir()
    (folder / "study.toml").write_text(block.content, encoding="utf-8")
    load_study(folder / "study.toml")


def commands(block: Block) -> list[str]:
    r"""Return the commands of a console block; a backslash continues on the next line.

    Examples
    --------
    >>> content = "$ ls -l\ntotal 0\n$ cat \\\n  a.txt\n"
    >>> commands(Block(language="console", settings={}, content=content, line=1))
    ['ls -l', 'cat \\\n  a.txt']
    """
    collected: list[str] = []
    is_open = False
    for line in block.content.splitlines():
        if is_open:
            collected[-1] += "\n" + line
        elif line.startswith("$ "):
            collected.append(line[2:])
        else:
            continue
        is_open = line.endswith("\\")
    return collected


def _run_console(run: PageRun, block: Block) -> str:
    wanted_codes = [0] * len(commands(block))
    wanted_codes[-1] = int(block.settings.get("exit", "0"))
    content = ""
    for command, wanted in zip(commands(block), wanted_codes, strict=True):
        content += f"$ {command}\n"
        if command.split()[0] in NOT_EXECUTED:
            _check_not_executed(command)
            continue
        code, printed = _execute(run, command)
        if code != wanted:
            raise ExampleError(f"`{command}` ended with {code} instead of {wanted}:\n{printed}")
        content += printed
    if block.settings.get("output") not in {"compared", "example"}:
        return "".join(f"$ {command}\n" for command in commands(block))
    return content


def _check_run_by(block: Block) -> None:
    """Check that another page has the commands of a block, or that a test has the name given."""
    name, _, test = block.settings["run-by"].partition("::")
    text = (ROOT / name).read_text(encoding="utf-8")
    if test:
        if f"def {test}(" not in text:
            raise ExampleError(f"{name} has no test {test!r}")
        return
    run_there = [
        command
        for other in blocks(text)
        if other.language == "console" and "run-by" not in other.settings
        for command in commands(other)
    ]
    for command in commands(block):
        if not any(f"{other} ".startswith(f"{command} ") for other in run_there):
            raise ExampleError(f"{name} does not run `{command}`")


def _check_not_executed(command: str) -> None:
    program, *arguments = command.split()
    targets = [word for word in arguments if not word.startswith("-") and "=" not in word]
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in targets if program == "make" else ():
        if not re.search(rf"^{re.escape(target)}:", makefile, flags=re.MULTILINE):
            raise ExampleError(f"`{command}`: the Makefile has no target {target!r}")


def _execute(run: PageRun, command: str) -> tuple[int, str]:
    """Run one command line as a reader would, with a terminal of 100 columns."""
    match = re.fullmatch(r"cd (\S+)", command)
    if match:
        run.folder = (run.folder / match[1]).resolve(strict=True)
        return 0, ""
    bin_folder = str(Path(sys.executable).parent)
    environment = {
        "CI": "true",  # The examples are ours: nobody is asked whether their code may run.
        **os.environ,
        "PATH": f"{bin_folder}{os.pathsep}{os.environ['PATH']}",
        # So that `python -m benches...` finds the benchmarks from every folder.
        "PYTHONPATH": str(ROOT),
        "COLUMNS": "100",
        "NO_COLOR": "1",
    }
    finished = subprocess.run(
        ["/bin/sh", "-c", command.replace(".venv/bin/", "")],
        cwd=run.folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        timeout=COMMAND_LIMIT_S,
        check=False,
    )
    printed = finished.stdout.replace(str(run.folder), "/home/you/headroom")
    return finished.returncode, "".join(line.rstrip() + "\n" for line in printed.splitlines())


def refreshed(page: Path, folder: Path) -> str:
    """Return the text of a page with what its commands print now."""
    text = page.read_text(encoding="utf-8")
    lines = text.splitlines(keepends=True)
    run = start_page(page, folder)
    shift = 0
    for block in list(blocks(text)):
        content = run_block(run, block)
        if content is None:
            continue
        start = block.line - 1 + shift
        old_count = len(block.content.splitlines())
        new_lines = content.splitlines(keepends=True)
        lines[start : start + old_count] = new_lines
        shift += len(new_lines) - old_count
    return "".join(lines)
