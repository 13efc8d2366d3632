"""The repository's own rules, which no general tool checks."""

import ast
import json
import re
import subprocess
import sys
from importlib.metadata import (
    Distribution,
    PackageNotFoundError,
    distribution,
    distributions,
    packages_distributions,
)
from pathlib import Path

import pytest

from benches.run import ON_THEIR_OWN
from headroom.version import DISTRIBUTION

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "headroom"
CLUSTER = PACKAGE / "experiment" / "runner" / "cluster"
"""What the extra `cluster` is for: only there may Dask be imported."""
LARGEST_FILE_BYTES = 256 * 1024
LARGEST_PICTURE_BYTES = 200_000

# The importers of the extension module: the kernel's front, and the two columns of each layer.
CORE_USERS = re.compile(
    r"(simulation/.*|(systems|recording|memory)/(.*/)?(native|model)(/.*)?)\.py"
)

# What extras bring: imported inside of functions, with a hint where it is missing.
EXTRAS = {"altair", "dask", "distributed", "pandas"}

# Licences that a user of Headroom may be asked to accept together with its own.
ALLOWED_LICENCES = {
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "MIT",
    "MPL-2.0",
    "PSF-2.0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
}


def committed_files() -> list[Path]:
    """Return the files that git tracks or would track."""
    argv = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [ROOT / name for name in listed.split("\0") if name and (ROOT / name).is_file()]


def python_files() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def imported_modules(path: Path) -> set[str]:
    """Return the full names that a module imports, ``from a import b`` as ``a`` and ``a.b``."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return names


def test_no_file_is_larger_than_a_reader_can_bear() -> None:
    large = [
        f"{path.relative_to(ROOT)}: {path.stat().st_size} bytes"
        for path in committed_files()
        if path.stat().st_size > LARGEST_FILE_BYTES
    ]
    assert not large


def test_pictures_of_the_documents_stay_small() -> None:
    pictures = [path for path in committed_files() if path.suffix in {".png", ".jpg", ".gif"}]
    assert not [p.name for p in pictures if p.stat().st_size > LARGEST_PICTURE_BYTES]


def test_every_path_named_in_the_architecture_exists() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    named = set(
        re.findall(r"`((?:src|tests|benches|docs|studies|scripts|bindings)/[^`\s*<]*)`", text)
    )
    assert named, "the page names no path: the pattern of this test is out of date"
    assert not [name for name in sorted(named) if not (ROOT / name).exists()]


def test_the_architecture_can_be_read_in_one_sitting() -> None:
    assert len((ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8").splitlines()) <= 217


@pytest.mark.parametrize("parent", [ROOT / "studies", PACKAGE / "systems"], ids=lambda p: p.name)
def test_every_study_and_every_system_says_what_it_is(parent: Path) -> None:
    folders = [path for path in parent.iterdir() if path.is_dir() and path.name[0] not in "._"]
    assert folders
    assert not [path.name for path in folders if not (path / "README.md").exists()]


@pytest.mark.deep
def test_only_the_two_columns_and_the_kernels_front_import_the_core() -> None:
    users = [
        path.relative_to(PACKAGE).as_posix()
        for path in python_files()
        if "headroom._core" in imported_modules(path) and not path.name.startswith("test_")
    ]
    assert users, "nothing imports headroom._core: this test looks in the wrong place"
    assert not [user for user in users if not CORE_USERS.fullmatch(user)]


@pytest.mark.deep
def test_the_package_imports_only_what_an_installation_brings() -> None:
    """A tool of the tests may bring a library along that a user does not have."""
    imported = {
        name.partition(".")[0]
        for path in python_files()
        if not path.name.startswith(("test_", "conftest", "fake_"))
        for name in imported_modules(path)
        if not (CLUSTER in path.parents and name.startswith(("dask", "distributed")))
    }
    providers = packages_distributions()
    installed = installed_with(DISTRIBUTION) | EXTRAS
    foreign = imported - set(sys.stdlib_module_names) - {"headroom"}
    assert "numpy" in foreign
    assert not [name for name in sorted(foreign) if not installed & set(providers.get(name, ()))]
    assert not installed & {"pydantic", "attrs"}, "msgspec is the only validator"


def installed_with(name: str) -> set[str]:
    """Return the distributions that installing one brings, itself included."""
    found: set[str] = set()
    waiting = [name]
    while waiting:
        current = distribution(waiting.pop())
        if current.name in found:
            continue
        found.add(current.name)
        for line in current.requires or []:
            requirement = re.match(r"[\w.-]+", line)
            if requirement and "extra ==" not in line and is_installed(requirement[0]):
                waiting.append(requirement[0])
    return found


def is_installed(name: str) -> bool:
    """Return False for requirements of other platforms only."""
    try:
        distribution(name)
    except PackageNotFoundError:
        return False
    return True


def test_every_folder_with_code_has_tests_beside_it() -> None:
    folders = {path.parent for path in python_files() if path.name != "__init__.py"} - {PACKAGE}
    lacking = [
        folder.relative_to(ROOT).as_posix()
        for folder in folders
        if not any(folder.glob("test_*.py")) and not any(folder.parent.glob("test_*.py"))
    ]
    assert not [name for name in lacking if "/starter/" not in name]


def test_results_of_studies_are_never_committed() -> None:
    results = [path for path in committed_files() if "results" in path.relative_to(ROOT).parts[:-1]]
    assert not [path for path in results if path.is_relative_to(ROOT / "studies")]


def test_no_module_is_a_drawer_for_odds_and_ends() -> None:
    drawers = {"utils", "util", "helpers", "helper", "common", "misc", "manager"}
    assert not [path for path in committed_files() if path.stem in drawers]


def test_benchmark_results_have_the_promised_keys() -> None:
    promised = {"case", "metric", "unit", "headroom", "peer", "peer_value", "ratio"}
    for path in (ROOT / "benches" / "results").glob("*.json"):
        if path.stem in ON_THEIR_OWN:
            continue
        rows = json.loads(path.read_text(encoding="utf-8"))
        assert rows, path.name
        assert all(promised <= set(row) for row in rows), path.name


@pytest.mark.parametrize(
    ("peer", "pattern"),
    [
        ("SimPy", r"at least (\d+) times as many station visits per processor\s+second as SimPy"),
        ("LINE", r"and (\d+) times as many as LINE's native engine"),
    ],
)
def test_the_speed_that_the_readme_promises_was_measured(peer: str, pattern: str) -> None:
    promised = re.search(pattern, (ROOT / "README.md").read_text(encoding="utf-8"))
    rows = json.loads((ROOT / "benches" / "results" / "simulation.json").read_text("utf-8"))
    assert promised, "the README says it in other words: this test must know them"
    ratios = [row["ratio"] for row in rows if row["peer"].startswith(peer) and row["ratio"]]
    assert int(promised[1]) <= min(ratios)


def is_allowed(expression: str) -> bool:
    """Return True if one reading of an SPDX expression requires allowed licences only."""
    text = expression.replace("/", " OR ").strip()
    if text in ALLOWED_LICENCES:
        return True
    for word, combine in ((" OR ", any), (" AND ", all)):
        parts = _split_outside_brackets(text, word)
        if len(parts) > 1:
            return combine(is_allowed(part) for part in parts)
    return text.startswith("(") and text.endswith(")") and is_allowed(text[1:-1])


def _split_outside_brackets(text: str, word: str) -> list[str]:
    parts, depth, start = [], 0, 0
    for index, letter in enumerate(text):
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if depth == 0 and text.startswith(word, index):
            parts.append(text[start:index])
            start = index + len(word)
    return [*parts, text[start:]]


@pytest.mark.parametrize(
    ("expression", "verdict"),
    [
        ("MIT OR Apache-2.0", True),
        ("MIT/Apache-2.0", True),
        ("GPL-3.0-only", False),
        ("GPL-3.0-only OR MIT", True),
        ("GPL-3.0-only AND MIT", False),
        ("(MIT OR Apache-2.0) AND Unicode-3.0", True),
        ("(MIT OR GPL-2.0-only) AND GPL-3.0-only", False),
    ],
)
def test_licence_expressions_are_read_as_spdx_means_them(expression: str, verdict: bool) -> None:  # noqa: FBT001
    assert is_allowed(expression) == verdict


def test_every_rust_crate_has_an_allowed_licence() -> None:
    argv = ["cargo", "metadata", "--format-version=1", "--locked"]
    said = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    packages = json.loads(said)["packages"]
    assert packages
    refused = [
        f"{p['name']}: {p['license']}" for p in packages if not is_allowed(p["license"] or "")
    ]
    assert not refused


# Words of older projects that name a licence without an SPDX expression.
LICENCE_WORDS = {
    "Apache Software License": "Apache-2.0",
    "Apache License, Version 2.0": "Apache-2.0",
    "Apache 2.0": "Apache-2.0",
    "BSD License": "BSD-3-Clause",
    "BSD": "BSD-3-Clause",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "The MIT License (MIT)": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
}


def licence_of(package: Distribution) -> str:
    """Return the SPDX expression of an installed distribution, or the words it uses instead."""
    fields = package.metadata.json
    if "license_expression" in fields:
        return str(fields["license_expression"])
    classified = [
        line.rpartition(" :: ")[2]
        for line in fields.get("classifier", [])
        if line.startswith("License ::") and line != "License :: OSI Approved"
    ]
    words = classified or [str(fields.get("license", "")).partition("\n")[0]]
    if words == [""]:
        words = [_first_line_of_licence_file(package)]
    return " AND ".join(LICENCE_WORDS.get(word, word) for word in words)


def _first_line_of_licence_file(package: Distribution) -> str:
    """Return the title of the licence of a distribution whose metadata name none."""
    for path in package.files or []:
        if path.name.startswith("LICENSE") and "dist-info" in str(path):
            return path.read_text(encoding="utf-8").partition("\n")[0].strip()
    return ""


def test_every_python_dependency_has_an_allowed_licence() -> None:
    # docutils, which builds the site, has one file under the GPL, for an editor.
    tools_only = {"pip", "setuptools", "wheel", "maturin", "docutils"}
    refused = {
        package.name: licence_of(package)
        for package in distributions()
        if package.name not in tools_only and not is_allowed(licence_of(package))
    }
    assert not refused


def test_our_own_licence_is_what_the_files_say() -> None:
    assert distribution(DISTRIBUTION).metadata["License-Expression"] == "MIT OR Apache-2.0"
    assert "MIT License" in (ROOT / "LICENSE-MIT").read_text(encoding="utf-8")
    assert "Version 2.0, January 2004" in (ROOT / "LICENSE-APACHE").read_text(encoding="utf-8")
