"""Open a page in headless Chromium and report its console, errors and requests.

The tests of the page use it, and so does the script that takes the screenshots of the
documentation. It speaks the DevTools protocol over a pair of pipes, so it needs no package, no port
and no driver program.

Invariant: the browser gets its own empty profile and a network that answers nothing, except, if
wanted, this machine.
"""

import base64
import fcntl
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO, Literal, TypeAlias

from headroom.errors import EnvironmentUnfitError
from headroom.output_file import write_output

Scheme: TypeAlias = Literal["light", "dark"]
Message: TypeAlias = dict[str, Any]

CURE = "install Chromium (Debian: apt-get install chromium) or set CHROMIUM to its path"
_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_SWITCHES = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--remote-debugging-pipe",
)
_NO_NETWORK = "--host-resolver-rules=MAP * ~NOTFOUND"
_LOWEST_FREE_FD = 10
# Chromium reads commands on descriptor 3 and answers on 4.
_STARTER = (
    "import os, sys; os.dup2(int(sys.argv[1]), 3); os.dup2(int(sys.argv[2]), 4); "
    "os.execv(sys.argv[3], sys.argv[3:])"
)
# The event of a fold that opens comes a moment later.
_UNFOLD = """
for (const fold of document.querySelectorAll("details")) fold.open = true;
new Promise((resolve) => { setTimeout(resolve, 0); });
"""
_STATE = """
new Promise((resolve) => {
  const root = document.documentElement;
  const answer = () => resolve(JSON.stringify({
    state: root.dataset,
    figures: Object.fromEntries([...document.querySelectorAll(".chart")].map((chart) => [
      chart.dataset.figure,
      { state: chart.dataset.state,
        marks: chart.querySelectorAll("svg path, svg rect, svg circle").length,
        isThere: chart.querySelector("svg") !== null,
        isBroken: /NaN|Infinity/.test(chart.innerHTML), width: chart.clientWidth,
        drawnWidth: Math.max(0, ...[...chart.querySelectorAll("svg")]
          .map((svg) => svg.getBoundingClientRect().width)) },
    ])),
    overflow: root.scrollWidth - root.clientWidth,
  }));
  const look = () => (root.dataset.state === "done" ? answer() : setTimeout(look, 20));
  look();
})
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """The result of one visit to a page.

    Parameters
    ----------
    state
        The page's own status: ``state``, ``problems``.
    figures
        Figure key to ``state``, ``marks``, ``isThere``, ``isBroken``, ``width``, ``drawnWidth``.
    overflow
        Pixels by which the page is wider than its window.
    console
        Warnings and errors of the console, uncaught exceptions included.
    requests
        Addresses that the page asked for, other than itself and data inside it.
    blocked
        Those of `requests` that its content security policy kept from being sent.
    ready_s, busy_s
        From the call to the figures, by the clock; of that, processor time of the page's thread.
    """

    state: dict[str, str]
    figures: dict[str, dict[str, Any]]
    overflow: int
    console: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    blocked: list[str] = field(default_factory=list)
    ready_s: float = 0.0
    busy_s: float = 0.0


def find_chromium() -> str | None:
    """Return the path of Chromium or Chrome: the variable CHROMIUM, else the search path."""
    named = os.environ.get("CHROMIUM")
    found = [shutil.which(name) for name in ((named,) if named else _NAMES)]
    return next((path for path in found if path), None)


class Browser:
    """A running headless browser; use `open_browser` to get one."""

    def __init__(self, *, commands: BinaryIO, answers: BinaryIO) -> None:
        self._commands = commands
        self._answers = answers
        self._last_id = 0
        self._events: list[Message] = []

    def visit(
        self,
        page: Path,
        *,
        scheme: Scheme = "light",
        width: int = 1280,
        height: int = 900,
        picture: Path | None = None,
        zoom: float = 1.0,
        action: str = "",
        is_printed: bool = False,
        unfolds: bool = False,
    ) -> Visit:
        """Open `page`, wait until its figures are drawn, and return what was seen.

        Parameters
        ----------
        page
            An HTML file.
        scheme
            What ``prefers-color-scheme`` says.
        width, height
            Window (CSS pixels).
        picture
            Where to write a PNG of the whole page, None for no picture.
        zoom
            Pixels of the picture for each px of the page.
        action
            JavaScript to run once the figures are drawn; the page is then awaited again.
        unfolds
            Open everything that is folded, before `action`.
        is_printed
            Whether `action` meets the styles of print.
        """
        tab = self._open_tab()
        self._show(scheme=scheme, width=width, height=height, session=tab)
        start_s = time.perf_counter()
        seen = self._load(page, session=tab)
        ready_s = time.perf_counter() - start_s
        busy_s = self._busy_s(session=tab)
        if unfolds:
            self._evaluate(_UNFOLD, session=tab)
            seen = json.loads(self._evaluate(_STATE, session=tab))
        if is_printed:
            self._call("Emulation.setEmulatedMedia", {"media": "print"}, session=tab)
        if action:
            self._evaluate(action, session=tab)
            seen = json.loads(self._evaluate(_STATE, session=tab))
        if picture:
            self._take_picture(picture, width=width, zoom=zoom, session=tab)
        return replace(self._visit_of(page, seen, session=tab), ready_s=ready_s, busy_s=busy_s)

    def ask(
        self,
        address: str,
        script: str,
        *,
        scheme: Scheme = "light",
        width: int = 1280,
        picture: Path | None = None,
    ) -> tuple[Any, list[str]]:
        """Open `address`, run `script` there, and return its result and what the console said."""
        tab = self._open_tab()
        self._show(scheme=scheme, width=width, height=900, session=tab)
        self._events.clear()
        self._call("Page.navigate", {"url": address}, session=tab)
        self._wait_for("Page.loadEventFired", session=tab)
        result = self._evaluate(script, session=tab)
        if picture:
            self._take_picture(picture, width=width, zoom=1.0, session=tab)
        events = [event for event in self._events if event.get("sessionId") == tab]
        return result, [text for event in events if (text := _console_text(event))]

    def visit_screens(
        self, page: Path, screens: Sequence[tuple[int, Scheme]], *, height: int, action: str
    ) -> list[Visit]:
        """Open `page` once and run `action` on screens of several widths (CSS px) and schemes."""
        tab = self._open_tab()
        visits: list[Visit] = []
        for width, scheme in screens:
            self._show(scheme=scheme, width=width, height=height, session=tab)
            if not visits:
                self._load(page, session=tab)
            self._evaluate(action, session=tab)
            seen = json.loads(self._evaluate(_STATE, session=tab))
            visits.append(self._visit_of(page, seen, session=tab))
        return visits

    def _load(self, page: Path, *, session: str) -> dict[str, Any]:
        """Open a page and return its state once its figures are drawn."""
        self._events.clear()
        self._call("Page.navigate", {"url": page.resolve().as_uri()}, session=session)
        self._wait_for("Page.loadEventFired", session=session)
        state: dict[str, Any] = json.loads(self._evaluate(_STATE, session=session))
        return state

    def _busy_s(self, *, session: str) -> float:
        found = self._call("Performance.getMetrics", session=session)["metrics"]
        return float(next(one["value"] for one in found if one["name"] == "TaskDuration"))

    def _visit_of(self, page: Path, seen: dict[str, Any], *, session: str) -> Visit:
        events = [event for event in self._events if event.get("sessionId") == session]
        requests = {
            event["params"]["requestId"]: url
            for event in events
            if (url := _foreign_request(event, page))
        }
        return Visit(
            state=seen["state"],
            figures=seen["figures"],
            overflow=seen["overflow"],
            console=[text for event in events if (text := _console_text(event))],
            requests=list(requests.values()),
            blocked=[requests[key] for event in events if (key := _blocked(event)) in requests],
        )

    def _open_tab(self) -> str:
        target = self._call("Target.createTarget", {"url": "about:blank"})["targetId"]
        session: str = self._call("Target.attachToTarget", {"targetId": target, "flatten": True})[
            "sessionId"
        ]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._call(f"{domain}.enable", session=session)
        self._call("Performance.enable", {"timeDomain": "threadTicks"}, session=session)
        return session

    def _show(self, *, scheme: Scheme, width: int, height: int, session: str) -> None:
        """Give a tab a screen."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self._call("Emulation.setEmulatedMedia", {"features": features}, session=session)
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self._call("Emulation.setDeviceMetricsOverride", size, session=session)

    def _take_picture(self, path: Path, *, width: int, zoom: float, session: str) -> None:
        metrics = self._call("Page.getLayoutMetrics", session=session)
        clip = {
            "x": 0,
            "y": 0,
            "width": width,
            "height": metrics["cssContentSize"]["height"],
            "scale": zoom,
        }
        options = {"format": "png", "captureBeyondViewport": True, "clip": clip}
        shot = self._call("Page.captureScreenshot", options, session=session)
        write_output(path, base64.b64decode(shot["data"]))

    def _evaluate(self, expression: str, *, session: str) -> Any:  # noqa: ANN401
        options = {"expression": expression, "awaitPromise": True, "returnByValue": True}
        answer = self._call("Runtime.evaluate", options, session=session)
        if "exceptionDetails" in answer:
            raise AssertionError(str(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def close(self) -> None:
        """Ask the browser to end."""
        self._call("Browser.close")

    def _call(
        self, method: str, options: Message | None = None, *, session: str = ""
    ) -> dict[str, Any]:
        self._last_id += 1
        message: Message = {"id": self._last_id, "method": method, "params": options or {}}
        if session:
            message["sessionId"] = session
        self._commands.write(json.dumps(message).encode() + b"\0")
        self._commands.flush()
        while True:
            answer = self._read()
            if answer.get("id") == self._last_id:
                if "error" in answer:
                    raise AssertionError(f"{method}: {answer['error']}")
                result: dict[str, Any] = answer["result"]
                return result
            self._events.append(answer)

    def _wait_for(self, method: str, *, session: str) -> None:
        def is_it(event: Message) -> bool:
            return event.get("method") == method and event.get("sessionId") == session

        while not any(is_it(event) for event in self._events):
            self._events.append(self._read())

    def _read(self) -> Message:
        text = bytearray()
        while (byte := self._answers.read(1)) != b"\0":
            if not byte:
                raise EnvironmentUnfitError("Chromium ended while a page was open", cure=CURE)
            text += byte
        message: Message = json.loads(text)
        return message


def _console_text(event: Message) -> str:
    options = event.get("params", {})
    if event.get("method") == "Runtime.exceptionThrown":
        return f"exception: {json.dumps(options['exceptionDetails'])}"
    if event.get("method") == "Runtime.consoleAPICalled" and options["type"] in {
        "warning",
        "error",
        "assert",
    }:
        texts = [str(part.get("value", part.get("description"))) for part in options["args"]]
        return f"console.{options['type']}: {' '.join(texts)}"
    if event.get("method") == "Log.entryAdded" and options["entry"]["level"] in {
        "warning",
        "error",
    }:
        return f"log: {options['entry']['text']}"
    return ""


def _foreign_request(event: Message, page: Path) -> str:
    if event.get("method") != "Network.requestWillBeSent":
        return ""
    url: str = event["params"]["request"]["url"]
    is_own = url.startswith(("data:", "blob:")) or url == page.resolve().as_uri()
    return "" if is_own else url


def _blocked(event: Message) -> str:
    options = event.get("params", {})
    is_blocked = event.get("method") == "Network.loadingFailed" and options.get("blockedReason")
    return str(options["requestId"]) if is_blocked == "csp" else ""


@contextmanager
def open_browser(*, reaches_here: bool = False) -> Iterator[Browser]:
    """Start Chromium with an empty profile and end it afterwards.

    Parameters
    ----------
    reaches_here
        Whether servers at 127.0.0.1 answer.

    Raises
    ------
    EnvironmentUnfitError
        If there is no Chromium.
    """
    program = find_chromium()
    if program is None:
        raise EnvironmentUnfitError("no Chromium was found", cure=CURE)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command_read, command_write = _pipe()
        answer_read, answer_write = _pipe()
        process = subprocess.Popen(
            [
                *(sys.executable, "-I", "-c", _STARTER, str(command_read), str(answer_write)),
                *(program, *_SWITCHES, f"--user-data-dir={profile}"),
                _NO_NETWORK + (", EXCLUDE 127.0.0.1" if reaches_here else ""),
                "about:blank",
            ],
            pass_fds=(command_read, answer_write),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(command_read)
        os.close(answer_write)
        with os.fdopen(command_write, "wb") as commands, os.fdopen(answer_read, "rb") as answers:
            browser = Browser(commands=commands, answers=answers)
            try:
                yield browser
                browser.close()
            finally:
                _end(process)


def _pipe() -> tuple[int, int]:
    """Return a pipe whose descriptors cannot collide with the two that Chromium wants."""
    ends = os.pipe()
    moved = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, _LOWEST_FREE_FD) for end in ends]
    for end in ends:
        os.close(end)
    return moved[0], moved[1]


def _end(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(timeout=10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
