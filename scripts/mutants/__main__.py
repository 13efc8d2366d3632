"""Show how many changes of the code are caught by the tests of its own part.

`python -m scripts.mutants --part gate --count 20 --seed 1` changes operators, constants, arguments
and returned values at 20 places of a part, one at a time. After each it runs the quick tests in the
folder of the part and those of `tests` that are named for it, then the deep ones of the nearest
files, and it prints each change that passes all of them. Without `--part` the seed chooses the
part; `--part all` prints the whole table.
"""

import argparse
import math
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from scripts.check_changes import module_of
from scripts.mutants.changes import Change, changes_of
from scripts.mutants.judging import ROOT, files_for, judge, preload

_SOURCE = "src/headroom"
_LIMIT_S, _TIMES = 10, 3
"""Limit of processor time (s): a constant, and a multiple of the time of the unchanged module."""
_NEAREST = 3
"""Files whose deep tests have a say after all quick ones."""


def parts() -> list[str]:
    """Return the parts: the folders of the package, and each layer of its systems."""
    found = [*(ROOT / _SOURCE).iterdir(), *(ROOT / _SOURCE / "systems").iterdir()]
    names = [
        one for one in found if one.is_dir() and not one.is_symlink() and one.name != "systems"
    ]
    return sorted(str(one.relative_to(ROOT)) for one in names if any(_modules(one)))


def _modules(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*.py")):
        is_test = path.name.startswith(("test_", "conftest", "example_"))
        if not is_test and "starter" not in path.parts:
            yield path


def chosen(part: str, *, count: int, seed: int) -> list[Change]:
    """Return some changes of a part by chance, in the order of its files."""
    places: list[Callable[[], Change]] = []
    for path in _modules(ROOT / part):
        places += changes_of(str(path.relative_to(ROOT)), path.read_text(encoding="utf-8"))
    picked = random.Random(f"{seed} {part}").sample(range(len(places)), min(count, len(places)))  # noqa: S311 - no secret
    return [places[place]() for place in sorted(picked)]


def judged(part: str, changes: Sequence[Change]) -> list[Change]:
    """Judge changes of a part one by one, print the survivors, and return them."""
    limit_s, survivors = 0, []
    for change in changes:
        tests = files_for(part, change.path)
        module = module_of(change.path)
        if not limit_s:
            text = (ROOT / change.path).read_text(encoding="utf-8")
            unchanged = judge(module, compile(text, change.path, "exec"), tests)
            if unchanged.is_caught:
                sys.exit(f"{part}: {unchanged.by} fails without any change\n{unchanged.output}")
            limit_s = _LIMIT_S + _TIMES * math.ceil(unchanged.cpu_s)
        code = compile(change.tree, str(ROOT / change.path), "exec")
        found = judge(module, code, tests, limit_s)
        if not found.is_caught:
            found = judge(module, code, tests[:_NEAREST], mark="deep")
        if found.is_caught:
            print(f"caught    {change}  by {found.by}", file=sys.stderr, flush=True)
        else:
            survivors.append(change)
            print(f"SURVIVED  {change}\n          tried: {' '.join(tests)}", flush=True)
    return survivors


def main(words: Sequence[str] | None = None) -> int:
    """Judge the requested parts, and print the table."""
    known = {Path(part).name: part for part in parts()}
    parser = argparse.ArgumentParser(prog="python -m scripts.mutants", description=__doc__)
    parser.add_argument("--part", action="append", choices=[*known, "all"])
    parser.add_argument("--count", type=int, default=20, help="changes of a part (default: 20)")
    parser.add_argument("--seed", type=int, default=1, help="chooses the changes (default: 1)")
    asked = parser.parse_args(words)
    names = asked.part or [sorted(known)[asked.seed % len(known)]]
    preload()
    table = []
    for name in sorted(known) if "all" in names else names:
        changes = chosen(known[name], count=asked.count, seed=asked.seed)
        table.append((name, len(changes) - len(judged(known[name], changes)), len(changes)))
    print(f"{'part':<16}{'caught':>8}{'of':>6}")
    for name, caught, count in table:
        print(f"{name:<16}{caught:>8}{count:>6}{caught / max(count, 1):>8.0%}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
