"""Hold the sentences of generated studies against exact solutions: `python -m benches.answers`.

`--seed 1 --sentences 300` draws studies until so many sentences are judged, prints each wrong one
with its study, then a table by kind. `--only 1:17 --keep FOLDER` judges study 17 of seed 1 and
keeps its files; `--asks` draws only studies that state what they ask.
"""

import argparse
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from typer.testing import CliRunner

from benches.answers.asked_kinds import ASKED
from benches.answers.judge import FAULTS, OPEN, Judge
from benches.answers.judge_asked import AskedJudge
from benches.answers.kinds import KINDS, drawn
from benches.answers.studies import Study
from headroom.cli.app import app
from headroom.errors import ExitCode
from headroom.gate.stored import read_stored

WIDTH = "250"
"""Columns of the printed screen, so that few sentences wrap."""


def judged(study: Study, folder: Path) -> Judge:
    """Run a study in a folder as `headroom run` does, and judge what it says."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in study.files().items():
        (folder / name).write_text(text, encoding="utf-8")
    runner = CliRunner(env={"COLUMNS": WIDTH, "CI": "true"})
    ran = runner.invoke(app, ["run", str(folder), "--jobs", "1"])
    if ran.exit_code not in {ExitCode.DONE, ExitCode.POINTS_FAILED}:
        raise RuntimeError(f"{study.name} ended with {ran.exit_code}: {ran.output[-2000:]}")
    result = read_stored(folder, label=study.name, quick=False).result
    judge = (AskedJudge if study.asks else Judge)(study, result, ran.stdout)
    judge.judge()
    return judge


def _is_wrong(faults: Sequence[str]) -> bool:
    return not all(one.startswith(OPEN) for one in faults)


def main(arguments: list[str]) -> int:
    """Judge studies, print each fault and a table; return 1 if there are any."""
    parser = argparse.ArgumentParser(prog="benches.answers", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sentences", type=int, default=300)
    parser.add_argument("--asks", action="store_true")
    parser.add_argument("--only", metavar="SEED:N")
    parser.add_argument("--keep", type=Path, metavar="FOLDER")
    options = parser.parse_args(arguments)
    seed, first = map(int, options.only.split(":")) if options.only else (options.seed, 0)
    judges: list[Judge] = []
    with TemporaryDirectory() as temporary:
        while not judges or (
            not options.only and sum(len(x.sentences) for x in judges) < options.sentences
        ):
            study = drawn(seed, first + len(judges), ASKED if options.asks else (*KINDS, *ASKED))
            judges.append(judged(study, (options.keep or Path(temporary)) / study.name))
            for kind, text, faults in judges[-1].sentences:
                if faults or options.only:
                    print(f"{study.name}, {kind}: {text}", *faults, sep="\n    ", flush=True)
    sentences = [one for judge in judges for one in judge.sentences]
    print(f"\n{len(judges)} studies{'':<16} {'right':>6} {'wrong':>6}")
    for kind in sorted({kind for kind, _, _ in sentences}):
        wrong = [_is_wrong(faults) for own, _, faults in sentences if own == kind]
        print(f"{kind:<26} {wrong.count(False):>6} {wrong.count(True):>6}")
    counts = Counter(one.partition(":")[0] for _, _, own in sentences for one in set(own))
    wrong = [_is_wrong(own) for _, _, own in sentences]
    answers = [own for kind, _, own in sentences if kind.startswith(("headline", "follow"))]
    left = sum(any(one.startswith(OPEN) for one in own) for own in answers)
    print(f"{left} of {len(answers)} answers leave open what is clear")
    print(f"{'all':<26} {wrong.count(False):>6} {wrong.count(True):>6}")
    print(", ".join(f"wrong {kind}: {counts[kind]}" for kind in FAULTS))
    held = [one for judge in judges for one in judge.held.items()]
    missed = [what for what, is_held in held if not is_held]
    print(f"{1 - len(missed) / len(held):.1%} of {len(held)} intervals hold the exact value")
    if errors := sorted(one for judge in judges for one in judge.breaks):
        low = sum(one < 0.0 for one in errors) / len(errors)
        sizes = sorted(map(abs, errors))
        print(f"{len(errors)} breaks: {sizes[len(sizes) // 2]:.2%} off at the median, "
              f"{sizes[-1]:.1%} at worst, {low:.0%} low")  # fmt: skip
    print(*missed if options.only else (), sep="\n")
    return int(any(wrong))
