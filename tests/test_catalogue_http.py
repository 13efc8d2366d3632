"""The HTTP face of the catalogue: its description, its counts and its admin page.

Each test starts the program on an empty SQLite file. Without the built program they are skipped.
"""

import base64
import http.client
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from headroom.errors import EnvironmentUnfitError
from headroom.report.browser import CURE, Scheme, find_chromium, open_browser
from headroom.systems.catalogue.command import program

pytestmark = pytest.mark.deep

WORD = "open sesame"
SETTINGS = """
[server]
listen = "127.0.0.1:0"
[database]
urls = ["sqlite:{folder}/catalogue.db"]
[catalogue]
allows_plain_passwords = true
{guest}
slow_after_ms = 0
[http]
listen = "127.0.0.1:0"
"""


class Service:
    """A running catalogue."""

    def __init__(self, folder: Path, *, guest: str = "") -> None:
        try:
            place = program()
        except EnvironmentUnfitError as error:
            pytest.skip(f"{error.message}: {error.cure}")
        config = folder / "catalogue.toml"
        line = f'guest = "{guest}"' if guest else ""
        config.write_text(SETTINGS.format(folder=folder, guest=line), encoding="utf-8")
        subprocess.run(
            [place, "set-password", "--config", config, "root"],
            input=WORD.encode(),
            check=True,
        )
        self.log = folder / "log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [place, "--log", "json", "serve", "--config", config],
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env=os.environ | {"RUST_LOG": "headroom_catalogue=debug"},
            )
        assert self.process.stdout
        lines = [self.process.stdout.readline().split()[-1] for _ in range(2)]
        self.address = f"http://{lines[1]}"

    def ask(self, method: str, path: str, body: object = None) -> tuple[int, str]:
        """Ask as root; return status and body."""
        pair = base64.b64encode(f"root:{WORD}".encode()).decode()
        connection = http.client.HTTPConnection(self.address.split("/")[-1], timeout=60)
        headers = {"Authorization": f"Basic {pair}", "Content-Type": "application/json"}
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        response = connection.getresponse()
        answer = response.status, response.read().decode()
        connection.close()
        return answer

    def fill(self) -> None:
        """Make directories and entries."""
        for path in ("/jobs", "/jobs/2008", "/files"):
            self.ask("POST", "/v1/directories", {"path": path})
        for name, of in (("events", "int"), ("status", "varchar(20)")):
            self.ask("POST", "/v1/attributes", {"path": "/jobs", "name": name, "type": of})
        entries = [
            {"name": name, "values": {"events": number, "status": "hush"}}
            for number, name in enumerate("abc")
        ]
        self.ask("POST", "/v1/entries", {"path": "/jobs", "entries": entries})
        condition = {"path": "/jobs", "condition": 'events > 1 and status = "hush"'}
        self.ask("POST", "/v1/query", condition)

    def end(self) -> list[dict[str, Any]]:
        """End it and return its log."""
        self.process.terminate()
        assert self.process.wait(timeout=60) == 0
        if self.process.stdout:
            self.process.stdout.close()
        return [json.loads(line) for line in self.log.read_text("utf-8").splitlines()]


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    """Return a catalogue in which root has a password."""
    running = Service(tmp_path)
    yield running
    running.end()


def test_what_it_does_is_as_it_describes(tmp_path: Path) -> None:
    # The guest may do everything, so that requests reach the commands. A text that is no path or no
    # condition is refused although the schema allows all texts: so that check is left out.
    running = Service(tmp_path, guest="root")
    running.fill()
    argv = [
        *(sys.executable, "-m", "schemathesis.cli", "run", f"{running.address}/openapi.json"),
        *("--phases", "coverage,fuzzing", "--max-examples", "12", "--seed", "1"),
        *("--exclude-checks", "ignored_auth,positive_data_acceptance", "--no-color"),
        *("--suppress-health-check", "all", "--warnings", "off", "--generation-database", "none"),
    ]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    running.end()


def test_the_counts_are_read_by_prometheus(service: Service) -> None:
    service.fill()
    status, text = service.ask("GET", "/metrics")
    assert status == 200
    families = {family.name: family for family in text_string_to_metric_families(text)}

    def value(family: str, **labels: str) -> float:
        samples = families[f"headroom_catalogue_{family}"].samples
        return sum(one.value for one in samples if labels.items() <= one.labels.items())

    assert value("operations", command="createdir", code="0") == 3
    assert value("pool_size", database="0") > 1
    assert value("statements", database="0") > 8
    assert value("handshakes") == 0
    assert value("http_responses", status="201") == 6
    histogram = families["headroom_catalogue_operation_seconds"]
    assert histogram.type == "histogram"
    counts = [
        one.value
        for one in histogram.samples
        if one.name.endswith("_bucket") and one.labels["command"] == "createdir"
    ]
    assert counts == sorted(counts)
    assert counts[-1] == 3
    assert value("sessions") == 0, "a request for the counts itself needs no login"


def test_log_lines_are_objects_without_secrets(service: Service) -> None:
    service.fill()
    lines = service.end()
    requests = [line for line in lines if line.get("message") == "request"]
    assert [line["status"] for line in requests] == [201] * 6 + [200]
    assert {line["path"] for line in requests} >= {"/v1/directories", "/v1/query"}
    text = service.log.read_text("utf-8")
    assert WORD not in text
    assert "hush" not in text


LOG_IN = """
(async () => {
  const soon = async (look) => { while (!look()) await new Promise((r) => setTimeout(r, 20)); };
  const at = (id) => document.getElementById(id);
  at("name").value = "root";
  at("secret").value = "wrong";
  at("login").requestSubmit();
  await soon(() => at("fault").textContent);
  const fault = at("fault").textContent;
  at("secret").value = "SECRET";
  at("login").requestSubmit();
  await soon(() => at("tree").querySelectorAll("li").length > 2);
  const jobs = [...at("tree").querySelectorAll("details")].find(
    (fold) => fold.querySelector("summary").firstChild.data === "jobs");
  jobs.open = true;
  await soon(() => jobs.textContent.includes("2008"));
  const text = (id) => at(id).innerText;
  const root = document.documentElement;
  return JSON.stringify({
    fault, login: at("login").hidden, pools: text("pools"), persons: text("persons"),
    slow: text("slow"), tree: text("tree"), numbers: text("numbers"),
    wider: root.scrollWidth - root.clientWidth, stored: localStorage.length + sessionStorage.length,
    paper: getComputedStyle(document.body).backgroundColor,
  });
})()
""".replace("SECRET", WORD)


def test_the_admin_page_shows_root_the_state(service: Service, tmp_path: Path) -> None:
    if find_chromium() is None and os.environ.get("CI") != "true":
        pytest.skip(f"no Chromium: {CURE}")
    service.fill()
    papers = set()
    screens: tuple[tuple[Scheme, int], ...] = (("light", 1280), ("dark", 1280), ("dark", 400))
    with open_browser(reaches_here=True) as browser:
        for scheme, width in screens:
            picture = tmp_path / f"{scheme}-{width}.png"
            found, console = browser.ask(
                f"{service.address}/admin", LOG_IN, scheme=scheme, width=width, picture=picture
            )
            seen = json.loads(found)
            assert "wrong" in seen["fault"]
            assert seen["login"]
            assert "catalogue.db" in seen["pools"]
            assert "root" in seen["persons"]
            assert "events > ? and status = ?" in seen["slow"]
            assert "hush" not in seen["slow"]
            assert "2008" in seen["tree"]
            assert (seen["wider"], seen["stored"]) == (0, 0)
            papers.add(seen["paper"])
            # The browser tells of the login that was refused, and of nothing else.
            assert all("401" in line for line in console), console
            assert picture.stat().st_size > 0
    assert len(papers) == 2, "the page follows the scheme of the screen"
