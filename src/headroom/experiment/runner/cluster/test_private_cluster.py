"""What another account of the machine reaches of a cluster that Headroom started: nothing."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from headroom.errors import StudyError
from headroom.experiment.runner.cluster.address import parse_address
from headroom.experiment.runner.cluster.private_cluster import make_certificate

NOBODY = 65534
SESSION = """
from headroom.experiment.runner.cluster.address import parse_address
from headroom.experiment.runner.cluster.connection import Cluster
if __name__ == "__main__":
    with Cluster(parse_address("local-cluster:1"), lambda text: None) as cluster:
        print(cluster.worker_count, flush=True)
        security = cluster.client.security
        print(security.tls_client_cert, security.tls_client_key, flush=True)
        input()
"""
ATTACK = """
import encodings.idna, os, socket, ssl, sys
user, port, *files = sys.argv[1:]
if user:  # its interpreter may lie where another user cannot start it
    os.setgroups([])
    os.setgid(int(user))
    os.setuid(int(user))
context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
try:
    if files:
        context.load_cert_chain(*files)
    with socket.create_connection(("127.0.0.1", int(port)), timeout=60) as plain:
        with context.wrap_socket(plain) as secured:
            print("answered" if secured.recv(1) else "closed")
except (ssl.SSLError, ConnectionError):
    print("refused")
except PermissionError:
    print("no key")
"""


@contextmanager
def session(folder: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the process of a driver with a cluster of one worker, and its certificate and key."""
    program = folder / "session.py"
    program.write_text(SESSION)
    with subprocess.Popen(
        [sys.executable, str(program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as driver:
        assert driver.stdin is not None
        assert driver.stdout is not None
        assert driver.stdout.readline() == "1\n"
        yield driver.pid, driver.stdout.readline().split()
        driver.stdin.write("\n")
    assert driver.returncode == 0


def listening(pid: int) -> list[tuple[str, int]]:
    """Return the addresses at which a process and its children listen, read from the kernel."""
    found = []
    for process in [pid, *_children(pid)]:
        entries = Path(f"/proc/{process}/fd").iterdir()
        own = {str(entry.readlink()) for entry in entries if entry.is_symlink()}
        for table in ("tcp", "tcp6"):
            lines = Path(f"/proc/{process}/net/{table}").read_text().splitlines()[1:]
            rows = [line.split() for line in lines]
            found += [
                (row[1].partition(":")[0], int(row[1].partition(":")[2], 16))
                for row in rows
                if row[3] == "0A" and f"socket:[{row[9]}]" in own
            ]
    return found


def _children(pid: int) -> list[int]:
    tasks = Path(f"/proc/{pid}/task").iterdir()
    children = [int(word) for task in tasks for word in (task / "children").read_text().split()]
    return children + [grandchild for child in children for grandchild in _children(child)]


def attack(port: int, *files: object, user: int | str = NOBODY) -> str:
    """Return what a program of a user gets from a port: the first bytes of Dask, or a refusal."""
    command = [sys.executable, "-I", "-c", ATTACK, str(user), str(port), *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lists the sockets of a process")
def test_another_account_gets_no_answer_from_any_socket(tmp_path: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("no other user can be taken on: it takes the rights of root")
    with TemporaryDirectory() as open_to_all, session(tmp_path) as (pid, (certificate, key)):
        own = make_certificate(Path(open_to_all))
        for file in (*own, Path(open_to_all)):
            file.chmod(0o755)
        found = listening(pid)
        assert {place for place, _ in found} == {"0100007F"}  # 127.0.0.1
        assert len(found) == 3, "the scheduler, its worker and the nanny of that worker"
        for _, port in found:
            assert attack(port) in {"refused", "closed"}
            assert attack(port, own[1], own[0]) in {"refused", "closed"}
            assert attack(port, certificate, key) == "no key"
            assert attack(port, certificate, key, user="") == "answered"
        assert Path(key).stat().st_mode & 0o777 == 0o600
        assert Path(key).parent.stat().st_mode & 0o777 == 0o700
    assert not Path(key).parent.exists()


@pytest.mark.parametrize("on", ["dask://10.0.0.1:8786", "tcp://head:1", "dask://127.0.0.1.org:1"])
def test_a_scheduler_of_others_without_tls_needs_to_be_asked_for(on: str) -> None:
    with pytest.raises(StudyError, match="has no TLS") as refusal:
        parse_address(on)
    assert f"dask+open://{on.partition('://')[2]}" in refusal.value.cure
    assert parse_address(on.replace(on.partition(":")[0], "dask+open")).scheduler.startswith("tcp:")


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.3.2.1", "[::1]"])
def test_the_loopback_interface_and_tls_need_no_more_words(host: str) -> None:
    assert parse_address(f"dask://{host}:1").scheduler == f"tcp://{host}:1"
    assert parse_address("tls://10.0.0.1:1").scheduler == "tls://10.0.0.1:1"
