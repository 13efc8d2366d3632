"""Check that a tag is the version of Cargo.toml: `python scripts/release_version.py v0.1.0`.

Cargo.toml has the version; maturin takes it from there. The other files that name it have to agree.
"""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NAMED_IN = {
    "CITATION.cff": r"^version: (\S+)$",
    "recipe/recipe.yaml": r'^  version: "(\S+)"$',
    "pyproject.toml": r'^catalogue = \["headroom-catalogue==(\S+)"\]$',
    "src/headroom/systems/catalogue/service/Cargo.toml": r'^version = "(\S+)"$',
}


def version() -> str:
    """Return the version of this checkout."""
    text = (ROOT / "Cargo.toml").read_text(encoding="utf-8")
    return str(tomllib.loads(text)["workspace"]["package"]["version"])


def disagreements(tag: str) -> list[str]:
    """Return each difference to Cargo.toml: of the tag, and of files that repeat the version.

    Examples
    --------
    >>> disagreements(f"v{version()}")
    []
    >>> disagreements("v99")[0]
    'the tag is v99'
    """
    wrong = [] if tag == f"v{version()}" else [f"the tag is {tag}"]
    for name, pattern in NAMED_IN.items():
        found = re.search(pattern, (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE)
        named = found[1] if found else "none"
        if named != version():
            wrong.append(f"{name} has the version {named}")
    return wrong


if __name__ == "__main__":
    said = disagreements(sys.argv[1])
    if said:
        sys.exit(f"Cargo.toml has the version {version()}, but {'; '.join(said)}")
