"""What the size of a study costs: `python -m benches.size [POINTS ...]`, or `make bench PART=size`.

Studies of M/M/1 with 300 completions and one replication of each point run, are shown unchanged,
and are shown after one more claim. Printed are the processor time of all processes, the size of
each file, and both per point: what grows with the number of points shows in the last columns.
"""

import resource
import subprocess
import sys
import tempfile
from pathlib import Path

SIZES = (100, 1_000, 10_000)
FILES = ("journal.sqlite", "results.json", "report.html", "points.cache", "result.cache")
STUDY = """\
schema = 1
name = "size"
seed = 7
title = "How does response grow?"
question = "How does response grow?"

[[experiment]]
name = "web"
system = {{ name = "model", model = "mm1", completions = 300 }}
replications = {{ count = 1 }}
factors.utilization = [{levels}]
"""
CLAIM = """
[[claim]]
name = "rises"
text = "Response time rises"
kind = "monotone"
experiment = "web"
metric = "response_s_p95"
factor = "utilization"
direction = "rises"
"""


def processor_s(*words: str, folder: Path) -> float:
    """Return the processor time (s) of a command of Headroom and its processes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "headroom", *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise RuntimeError(done.stderr)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime - before.ru_utime) + (after.ru_stime - before.ru_stime)


def lines_of(points: int) -> list[str]:
    """Return the printed lines of one size."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        study = folder / "study.toml"
        levels = ", ".join(f"{0.1 + 0.8 * place / points:.8g}" for place in range(points))
        study.write_text(STUDY.format(levels=levels))
        found = {"run": processor_s("run", ".", "--quiet", folder=folder)}
        found["show, unchanged"] = processor_s("show", ".", folder=folder)
        study.write_text(study.read_text() + CLAIM)
        found["show, one more claim"] = processor_s("show", ".", folder=folder)
        sizes = {file: (folder / "results" / file).stat().st_size for file in FILES}
    return [
        *(
            f"{points:>8,}  {what:<22} {took_s:>9.2f} s  {1e3 * took_s / points:>9.2f} ms a point"
            for what, took_s in found.items()
        ),
        *(
            f"{points:>8,}  {file:<22} {size / 1e6:>9.2f} MB {size / points:>9.0f} B a point"
            for file, size in sizes.items()
        ),
    ]


def main(arguments: list[str]) -> int:
    """Print the costs of the sizes named, or of all."""
    for points in [int(word) for word in arguments] or SIZES:
        print("\n".join(lines_of(points)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
