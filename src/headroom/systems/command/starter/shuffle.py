"""Write shuffled numbers to a file: `shuffle.py LINES FILE`; the same lines each time."""

import random
import sys
from pathlib import Path


def main() -> None:
    """Write the file that the measured program reads."""
    count = int(sys.argv[1])
    numbers = list(range(count))
    random.Random(1).shuffle(numbers)  # noqa: S311 - reproducible on purpose
    lines = [f"# {count} lines", *map(str, numbers)]
    Path(sys.argv[2]).write_text("\n".join(lines) + "\n", encoding="ascii")


main()
