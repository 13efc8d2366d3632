"""The wheel, installed without Rust, home or checkout, does what users try first.

The environment holds the wheel and links to exactly what it declares as dependencies, so that
nothing is downloaded and a forgotten dependency is found.
"""

import http.client
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import pytest

from headroom.errors import ExitCode
from headroom.experiment.study.file.shipped import shipped_names
from headroom.version import DISTRIBUTION
from tests.test_tidy import installed_with

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = ("rm", "true")
"""All that the demo may find on the PATH, apart from Headroom itself."""
NOT_SHIPPED = re.compile(
    r"(^|/)(test_[^/]*|conftest\.py|results/.*|pictures/.*|.*\.rs|Cargo\.toml|tests/.*)$"
)
LARGEST_WHEEL_BYTES = 6_000_000
SERVICE = ROOT / "src" / "headroom" / "systems" / "catalogue" / "service"
CATALOGUE = """
[server]
listen = "127.0.0.1:0"
[http]
listen = "127.0.0.1:0"
allows_plain = true
"""


def maturin(*words: str) -> None:
    argv = [str(ROOT / "scripts" / "with-rust"), sys.executable, "-m", "maturin", *words]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        argv,
        cwd=ROOT,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


pytestmark = pytest.mark.deep


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel; after `make build` this packs and compiles nothing."""
    folder = tmp_path_factory.mktemp("dist")
    maturin("build", "--locked", "--profile", "editable", "--out", str(folder))
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def machine(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with an environment that has the wheel, a PATH, an empty home and a place."""
    root = tmp_path_factory.mktemp("machine")
    for name in ("home", "bin", "here"):
        (root / name).mkdir()
    for name in PROGRAMS:
        (root / "bin" / name).symlink_to(str(shutil.which(name)))
    venv = [sys.executable, "-m", "venv", "--without-pip", str(root / "venv")]
    subprocess.run(venv, check=True)
    (site,) = (root / "venv" / "lib").glob("python*/site-packages")
    for name in installed_with(DISTRIBUTION) - {DISTRIBUTION}:
        package = distribution(name)
        for top in {file.parts[0] for file in package.files or ()} - {"..", "__pycache__"}:
            (site / top).symlink_to(str(package.locate_file(top)))
    python = str(root / "venv" / "bin" / "python")
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--no-index"]
    subprocess.run([*pip, "--quiet", str(wheel)], check=True)
    return root


@pytest.fixture(scope="module")
def with_catalogue(wheel: Path, machine: Path) -> Path:
    """Return the machine with the extra `catalogue`, installed from a folder of wheels alone.

    The programs are those of the service's own tests, so that little is compiled here.
    """
    options = ["--locked", "--profile", "dev", "--all-features", "--out", str(wheel.parent)]
    options += ["--target-dir", str(ROOT / "target" / "catalogue")]
    maturin("build", *options, "--manifest-path", str(SERVICE / "Cargo.toml"))
    python = str(machine / "venv" / "bin" / "python")
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--no-index", "--quiet"]
    subprocess.run(
        [*pip, "--find-links", str(wheel.parent), f"{DISTRIBUTION}[catalogue]"], check=True
    )
    return machine


def as_user(machine: Path, *words: str) -> dict[str, Any]:
    """Return the arguments of a process that runs the command as a user of that machine."""
    return {
        "args": [str(machine / "venv" / "bin" / "headroom"), *words],
        "cwd": machine / "here",
        "env": {"PATH": str(machine / "bin"), "HOME": str(machine / "home"), "COLUMNS": "80"},
        "text": True,
    }


def headroom(machine: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the command as a user of that machine."""
    return subprocess.run(**as_user(machine, *words), capture_output=True, check=False)


def test_the_wheel_fits_every_python_and_old_systems(wheel: Path) -> None:
    version = tomllib.loads((ROOT / "Cargo.toml").read_text("utf-8"))["workspace"]["package"]
    system = r"manylinux_\d+_\d+_\w+" if sys.platform == "linux" else r"macosx_\w+"
    pattern = rf"headroom_lab-{re.escape(version['version'])}-cp311-abi3-{system}\.whl"
    assert re.fullmatch(pattern, wheel.name)
    assert wheel.stat().st_size < LARGEST_WHEEL_BYTES


def test_the_studies_ship_and_nothing_of_tests_does(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert [name for name in names if NOT_SHIPPED.search(name)] == []
    studies = {name.split("/")[2] for name in names if name.startswith("headroom/studies/")}
    assert studies == set(shipped_names()) >= {"quickstart", "sqlite_commits", "disk_check"}
    for study in studies:
        assert {f"headroom/studies/{study}/{file}" for file in ("study.toml", "README.md")} <= {
            *names
        }
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.startswith("headroom_lab-")} == {"headroom"}


def test_the_source_distribution_has_what_a_build_needs_and_no_results(tmp_path: Path) -> None:
    maturin("sdist", "--out", str(tmp_path))
    (built,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(built) as archive:
        names = [name.partition("/")[2] for name in archive.getnames()]
    needed = {"Cargo.lock", "pyproject.toml", "src/headroom/lib.rs", "README.md", "LICENSE-MIT"}
    folders = (ROOT / "src" / "headroom").rglob("Cargo.toml")
    members = {path.relative_to(ROOT).as_posix() for path in folders if path.parent != SERVICE}
    assert needed | members <= set(names)
    assert "src/headroom/studies/quickstart/study.toml" in names
    assert [name for name in names if re.search(r"/(results/|test_)", name)] == []


def test_the_version_is_there_at_once(machine: Path) -> None:
    """No library behind a console or a document is loaded: they take longer than all the rest."""
    said = headroom(machine, "--version")
    assert said.stdout == f"headroom {distribution(DISTRIBUTION).version}\n", said.stderr
    program = (
        "import sys; sys.argv = ['headroom', '--version']\n"
        "from headroom.cli import main\n"
        "try: main()\n"
        "except SystemExit: print(sorted({n.partition('.')[0] for n in sys.modules}))"
    )
    python = [str(machine / "venv" / "bin" / "python"), "-c", program]
    loaded = subprocess.run(python, capture_output=True, text=True, check=True).stdout
    assert "'typer'" in loaded
    heavy = ("rich", "msgspec", "numpy", "scipy", "jinja2", "pydantic", "click")
    assert [name for name in heavy if f"'{name}'" in loaded] == []


def test_the_demo_writes_two_pages_and_a_second_one_reuses_them(machine: Path) -> None:
    """Whatever the machine can measure: a point without results is exit code 1, and shown."""
    first = headroom(machine, "demo")
    assert first.returncode in {0, 1}, first.stderr
    pages = re.findall(r"file://(\S+report\.html)", first.stdout.rpartition("The pages")[2])
    assert [Path(page).parents[2].name for page in pages] == ["quickstart", "sqlite_commits"]
    for page in pages:
        assert Path(page).is_relative_to(machine / "here" / "headroom-demo")
        assert "</html>" in Path(page).read_text("utf-8")
    assert "SQLite commits to headroom-demo/sqlite_commits (" in first.stderr
    study = machine / "here" / "headroom-demo" / "sqlite_commits"
    results = json.loads((study / "results/quick/results.json").read_text("utf-8"))
    assert results["done"] == 84
    assert [path for path in (study / "results").iterdir() if path.name != "quick"] == []
    second = headroom(machine, "demo")
    assert "95 replications of earlier runs reused" in second.stderr
    assert "84 replications of earlier runs reused" in second.stderr


def test_a_shipped_study_is_copied_and_runs(machine: Path) -> None:
    listed = headroom(machine, "init", "--list").stdout
    assert [line.split()[0] for line in listed.splitlines()] == list(shipped_names())
    assert headroom(machine, "init", "mine", "--from", "disk_check").returncode == 0
    planned = headroom(machine, "run", "mine", "--dry-run")
    assert planned.returncode == 0, planned.stderr
    assert re.search(r"\d+ points", planned.stdout)


def test_without_its_wheel_the_catalogue_says_how_to_get_it(machine: Path) -> None:
    refused = headroom(machine, "catalogue", "show-config")
    assert refused.returncode == ExitCode.ENVIRONMENT
    assert "hint: install it: `pip install headroom-lab[catalogue]`" in refused.stderr


def test_the_catalogue_of_the_extra_serves_a_request(with_catalogue: Path) -> None:
    """Its programs are not in the PATH: the environment need not be activated."""
    (with_catalogue / "here" / "catalogue.toml").write_text(CATALOGUE, encoding="utf-8")
    words = ("catalogue", "serve", "--config", "catalogue.toml")
    with subprocess.Popen(**as_user(with_catalogue, *words), stdout=subprocess.PIPE) as service:
        try:
            assert service.stdout is not None
            addresses = [service.stdout.readline().split()[-1] for _ in range(2)]
            connection = http.client.HTTPConnection(addresses[1], timeout=60)
            connection.request("GET", "/ready")
            assert connection.getresponse().status == http.HTTPStatus.OK
            connection.close()
        finally:
            service.terminate()
    assert os.access(with_catalogue / "venv" / "bin" / "headroom-catalogue-load", os.X_OK)


def test_the_machine_of_this_test_has_no_rust_and_its_home_only_what_is_trusted(
    machine: Path,
) -> None:
    assert shutil.which("cargo", path=str(machine / "bin")) is None
    assert headroom(machine, "list", ".").returncode == 0
    files = [path for path in (machine / "home").rglob("*") if path.is_file()]
    assert files == [machine / "home" / ".config" / "headroom" / "trust.json"]
