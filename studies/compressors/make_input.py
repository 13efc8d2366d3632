"""Write a real text: Python's own standard library, joined up to a given size.

`make_input.py FILE SIZE_BYTES`. Every machine that runs Headroom has it; with the same version of
Python the bytes are the same.
"""

import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

OTHERS = {"site-packages", "dist-packages", "test", "tests", "idlelib", "lib2to3", "__pycache__"}


def library_text() -> Iterator[bytes]:
    """Yield the source files of the standard library, sorted, those of its top folder first."""
    folder = Path(sysconfig.get_path("stdlib"))
    names = (path.relative_to(folder) for path in folder.rglob("*.py"))
    own = (name for name in names if not OTHERS & set(name.parts))
    for name in sorted(own, key=lambda name: (len(name.parts), str(name))):
        yield (folder / name).read_bytes()


def main() -> None:
    """Write the file, exactly as long as was asked for."""
    path, size_bytes = Path(sys.argv[1]), int(sys.argv[2])
    missing = size_bytes
    with path.open("wb") as file:
        for text in library_text():
            missing -= file.write(text[:missing])
    if missing:
        sys.exit(f"the standard library is {missing} bytes shorter than {size_bytes}")


if __name__ == "__main__":
    main()
