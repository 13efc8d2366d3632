"""criterion: a Rust benchmark that leaves a folder of estimates for each name."""

from collections.abc import Sequence
from pathlib import Path

from headroom.gate.suites.tool import Call, Choice, Output, Sample, document, with_pairs


def call(argv: Sequence[str], scratch: Path, choice: Choice) -> Call:
    """Return the command with a folder for its estimates, a tenth of its usual 8 s each.

    `cargo bench` passes on only what follows `--`; it needs `--bench NAME` where the crate has
    benchmarks of another harness, which know none of these options.
    """
    is_cargo = Path(argv[0]).name == "cargo" and "--" not in argv
    options = {"--warm-up-time": "0.3", "--measurement-time": "0.5", "--sample-size": "10"}
    words = with_pairs([*argv, *(["--"] if is_cargo else ["--bench"])], options)
    if "--noplot" not in words:
        words.append("--noplot")
    pattern = [choice.pattern()] if choice.wanted else []
    return Call(argv=[*words, *pattern], environment={"CRITERION_HOME": str(scratch)})


def samples(output: Output) -> list[Sample]:
    """Return the median wall time of an iteration of each benchmark."""
    found = []
    for path in sorted(output.scratch.glob("**/new/estimates.json")):
        name = document(path.with_name("benchmark.json"))["full_id"]
        value = 1e-9 * document(path)["median"]["point_estimate"]
        found.append(Sample(name=name, metric="wall_s", value=value))
    return found
