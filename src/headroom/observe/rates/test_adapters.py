"""Adapters: the counters of texts that servers print, without the adapter's own requests."""

import http.server
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from headroom.errors import HeadroomError, StudyError
from headroom.observe.rates.adapter import AdapterError
from headroom.observe.rates.command import CommandAdapter
from headroom.observe.rates.log import LogAdapter
from headroom.observe.rates.redis import RedisAdapter
from headroom.observe.rates.spec import adapters_of
from headroom.observe.rates.web import HaproxyAdapter, NginxAdapter, PrometheusAdapter

NGINX = """Active connections: 291
server accepts handled requests
 16630948 16630900 {count}
Reading: 6 Writing: 179 Waiting: 106
"""
HAPROXY = """# pxname,svname,qcur,scur,stot,req_tot,
web,FRONTEND,,3,900,{count},
web,app1,0,1,450,,
api,FRONTEND,,3,70,,
web,BACKEND,0,2,900,,
"""
PROMETHEUS = """# HELP http_requests_total Requests
# TYPE http_requests_total counter
http_requests_total{method="post",code="200",path="a}\\"b"} 1027 1395066363000
http_requests_total{method="get",code="200"} {count}
http_requests_total{method="get",code="500"} 3
up 1
broken NaN
"""


@contextmanager
def served(text: str, first: int = 1000, step: int = 50) -> Iterator[str]:
    """Serve a text over HTTP whose counter grows with each request, which counts itself."""
    asked = [0]

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked[0] += 1
            counter = first + asked[0] + step * (asked[0] - 1)
            content = text.replace("{count}", str(counter)).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/status"
        finally:
            server.shutdown()
            thread.join()


def test_nginx_counts_the_requests_of_others() -> None:
    with served(NGINX) as url:
        adapter = NginxAdapter(url)
        assert [adapter.count(), adapter.count()] == [1000.0, 1050.0]
    with pytest.raises(AdapterError, match="does not answer"):
        adapter.count()
    with served("<html>"), pytest.raises(AdapterError, match="is not a URL"):
        NginxAdapter("file:///etc/passwd").count()
    with served("<html>") as url, pytest.raises(AdapterError, match="not a status page") as caught:
        NginxAdapter(url).count()
    assert "stub_status" in caught.value.cure


def test_haproxy_counts_requests_or_else_sessions_of_front_ends(tmp_path: Path) -> None:
    with served(HAPROXY) as url:
        assert HaproxyAdapter(url).count() == 1000.0 + 70.0
        assert HaproxyAdapter(f"{url}#api").count() == 70.0 - 1.0
        with pytest.raises(AdapterError, match="no front end 'none'"):
            HaproxyAdapter(f"{url}#none").count()
    path = str(tmp_path / "socket")

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            assert self.rfile.readline() == b"show stat\n"
            self.wfile.write(HAPROXY.replace("{count}", "5").encode())

    with socketserver.UnixStreamServer(path, Handler) as server:
        thread = threading.Thread(target=server.handle_request, daemon=True)
        thread.start()
        assert HaproxyAdapter(path).count() == 75.0
        thread.join()
    with pytest.raises(AdapterError, match="does not answer"):
        HaproxyAdapter(str(tmp_path / "nothing")).count()


def test_prometheus_sums_the_series_that_are_chosen() -> None:
    with served(PROMETHEUS, first=999) as url:
        assert PrometheusAdapter(f"{url}#http_requests_total").count() == 1027.0 + 1000.0 + 3.0
        chosen = f'{url}#http_requests_total{{code="200",method="get"}}'
        assert PrometheusAdapter(chosen).count() == 1051.0
        escaped = f'{url}#http_requests_total{{path="a}}\\"b"}}'
        assert PrometheusAdapter(escaped).count() == 1027.0
        with pytest.raises(AdapterError, match="no counter requests") as caught:
            PrometheusAdapter(f"{url}#requests").count()
        assert "http_requests_total" in caught.value.cure


def test_a_log_counts_what_is_appended_and_survives_rotation_and_truncation(tmp_path: Path) -> None:
    log = tmp_path / "access.log"
    log.write_text("old\nold\n")
    adapter = LogAdapter(str(log))
    assert adapter.count() == 0.0
    with log.open("a") as file:
        file.write("a\nb\nhalf")
    assert adapter.count() == 2.0
    with log.open("a") as file:
        file.write(" a line\n")
    log.rename(tmp_path / "access.log.1")
    assert adapter.count() == 3.0
    log.write_text("c\n")
    assert adapter.count() == 4.0
    log.write_text("")
    assert adapter.count() == 4.0
    log.write_text("d\n")
    assert adapter.count() == 5.0
    adapter.close()
    with pytest.raises(AdapterError, match="cannot be read: No such file"):
        LogAdapter(str(tmp_path / "nothing")).count()


def test_redis_counts_the_commands_of_others_and_needs_its_password() -> None:
    """Known answer: a server that counts as redis does, a command once it is done."""
    processed = [70]

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            while head := self.rfile.readline():
                words = []
                for _ in range(int(head[1:])):
                    self.rfile.readline()
                    words.append(self.rfile.readline().strip())
                if words[0] == b"AUTH":
                    good = words[-1] == b"secret"
                    self.wfile.write(b"+OK\r\n" if good else b"-WRONGPASS\r\n")
                else:
                    count = processed[0]
                    text = f"# Stats\r\ntotal_commands_processed:{count}\r\nother:1\r\n".encode()
                    self.wfile.write(b"$%d\r\n%s\r\n" % (len(text), text))
                processed[0] += 1

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        place = f"127.0.0.1:{server.server_address[1]}"
        adapter = RedisAdapter(f"//:secret@{place}")
        assert adapter.count() == 70.0
        processed[0] += 30
        assert adapter.count() == 100.0
        adapter.close()
        with pytest.raises(AdapterError, match="refuses the password") as caught:
            RedisAdapter(f"//:wrong@{place}").count()
        assert "wrong" not in caught.value.message
        server.shutdown()
        thread.join()
    with pytest.raises(AdapterError, match="does not answer"):
        RedisAdapter(place).count()


def test_a_command_counts_by_its_last_number_and_says_what_it_printed() -> None:
    assert CommandAdapter("echo at 10:30 done 1.5e3").count() == 1500.0
    for command, message in [
        ("echo none", "printed no number, but 'none'"),
        ("nothing-like-this", "failed"),
        ("sh -c 'exit 3'", "exit code 3"),
    ]:
        with pytest.raises(AdapterError, match=message):
            CommandAdapter(command).count()


def test_rates_are_named_by_kind_or_by_the_user_and_mistakes_are_said() -> None:
    found = adapters_of(["redis://localhost:1", "hits=nginx:http://h/s", "log:/var/log/a"])
    assert {name: type(one).__name__ for name, one in found.items()} == {
        "commands": "RedisAdapter", "hits": "NginxAdapter", "lines": "LogAdapter",
    }  # fmt: skip
    assert found["commands"].place == "//localhost:1"
    for specs, message in [
        (["ngnix:http://h"], "unknown kind 'ngnix'"),
        (["two words=log:/a"], "is not a name"),
        (["log:/a", "log:/b"], "two rates are called 'lines'"),
        (["log:"], "unknown kind"),
    ]:
        with pytest.raises(StudyError, match=message) as caught:
            adapters_of(specs)
        assert isinstance(caught.value, HeadroomError)
        assert caught.value.cure
