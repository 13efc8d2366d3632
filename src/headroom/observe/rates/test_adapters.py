"""Adapters: the counters of texts that servers print, without the adapter's own requests."""

import http.server
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from headroom.errors import StudyError
from headroom.observe.rates.adapter import AdapterError, adapters_of
from headroom.observe.rates.log import LogAdapter
from headroom.observe.rates.texts import command, haproxy, nginx, prometheus, redis

NGINX = """Active connections: 291
server accepts handled requests
 16630948 16630900 %d
Reading: 6 Writing: 179 Waiting: 106
"""
HAPROXY = """# pxname,svname,qcur,scur,stot,req_tot,
web,FRONTEND,,3,900,%d,
web,app1,0,1,450,,
api,FRONTEND,,3,70,,
web,BACKEND,0,2,900,,
"""
PROMETHEUS = """# HELP http_requests_total Requests
http_requests_total{method="post",code="200",path="a}\\"b"} 1027 1395066363000
http_requests_total{method="get",code="200"} %d
http_requests_total{method="get",code="500"} 3
broken NaN
"""


@contextmanager
def serving(server: Any) -> Iterator[str]:
    with server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield "{}:{}".format(*server.server_address[:2])
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def served(text: str) -> Iterator[str]:
    """Serve a text whose counter is 1000, then 1050, and counts each request for itself."""
    counts = iter([1001, 1052])

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write((text % next(counts) if "%d" in text else text).encode())

        def log_message(self, *_: object) -> None:
            pass

    with serving(http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as place:
        yield f"http://{place}/status"


def test_nginx_and_haproxy_count_the_requests_of_others() -> None:
    with served(NGINX) as url:
        adapter = nginx(url)
        assert [adapter.count(), adapter.count()] == [1000.0, 1050.0]
    with pytest.raises(AdapterError, match="does not answer"):
        adapter.count()
    with served("<html>") as url, pytest.raises(AdapterError, match="no counter in '<html>'") as no:
        nginx(url).count()
    assert "stub_status" in no.value.cure
    with pytest.raises(AdapterError, match="it is not a URL"):
        nginx("file:///etc/passwd").count()
    with served(HAPROXY) as url:
        assert haproxy(url).count() == 1000.0 + 70.0
        assert haproxy(f"{url}#api").count() == 70.0 - 1.0


@pytest.mark.parametrize(
    ("chosen", "count"),
    [
        ("", 1027.0 + 1001.0 + 3.0),
        ('{code="200",method="get"}', 1001.0),
        ('{path="a}\\"b"}', 1027.0),
    ],
)
def test_prometheus_sums_the_series_that_are_chosen(chosen: str, count: float) -> None:
    with served(PROMETHEUS) as url:
        assert prometheus(f"{url}#http_requests_total{chosen}").count() == count
        with pytest.raises(AdapterError, match="no counter requests in"):
            prometheus(f"{url}#requests").count()


def test_a_log_counts_what_is_appended_and_survives_rotation_and_truncation(tmp_path: Path) -> None:
    log = tmp_path / "access.log"
    log.write_text("old\nold\n")
    adapter = LogAdapter(str(log))
    counts = [adapter.count()]
    for text in ("a\nb\nhalf", " a line\n"):
        with log.open("a") as file:
            file.write(text)
        counts.append(adapter.count())
    log.rename(tmp_path / "access.log.1")
    counts.append(adapter.count())
    for text in ("c\n", "", "d\n"):
        log.write_text(text)
        counts.append(adapter.count())
    adapter.close()
    assert counts == [0.0, 2.0, 3.0, 3.0, 4.0, 4.0, 5.0]
    with pytest.raises(AdapterError, match="cannot be read"):
        LogAdapter(str(tmp_path / "nothing")).count()


def test_redis_counts_the_commands_of_others_and_needs_its_password() -> None:
    """Known answer: a server that counts as redis does, a command once it is done."""
    processed = [70]

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            while head := self.rfile.readline():
                words = [self.rfile.readline() for _ in range(2 * int(head[1:]))][1::2]
                text = b"# Stats\r\ntotal_commands_processed:%d\r\n" % processed[0]
                known = {b"AUTH\r\n": b"+OK\r\n", b"INFO\r\n": b"$%d\r\n%s\r\n" % (len(text), text)}
                is_refused = words[0] == b"AUTH\r\n" and words[-1] != b"secret\r\n"
                self.wfile.write(b"-WRONGPASS\r\n" if is_refused else known[words[0]])
                processed[0] += 1
                if is_refused:
                    return

    with serving(socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)) as place:
        adapter = redis(f"//:secret@{place}")
        before = adapter.count()
        processed[0] += 30
        assert adapter.count() - before == 30.0
        with pytest.raises(AdapterError) as caught:
            redis(f"//:wrong@{place}").count()
    assert "wrong" not in caught.value.message
    with pytest.raises(AdapterError, match="does not answer"):
        redis(f"//{place}").count()


def test_a_command_counts_by_its_last_number_and_mistakes_are_said() -> None:
    assert command("echo at 10:30 done 1.5e3").count() == 1500.0
    for line, message in [("echo none", "no counter in 'none'"), ("sh -c 'exit 3'", "exit code 3"),
                          ("nothing-like-this", "No such file")]:  # fmt: skip
        with pytest.raises(AdapterError, match=message):
            command(line).count()
    found = adapters_of(["redis://localhost:1", "hits=nginx:http://h/s", "log:/var/log/a"])
    places = {name: one.place for name, one in found.items()}
    assert places == {"commands": "//localhost:1", "hits": "http://h/s", "lines": "/var/log/a"}
    for specs, message in [(["ngnix:http://h"], "unknown kind 'ngnix'"), (["log:"], "unknown kind"),
                           (["two words=log:/a"], "not a name"),
                           (["log:/a", "log:/b"], "'lines' is taken")]:  # fmt: skip
        with pytest.raises(StudyError, match=message) as caught:
            adapters_of(specs)
        assert caught.value.cure
