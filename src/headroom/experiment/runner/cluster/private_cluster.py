"""A cluster of this machine that only this session can reach: mutual TLS, and nothing else listens.

Whoever reaches a Dask scheduler runs code as its user, and every account of a machine reaches its
loopback interface. So scheduler, workers and driver accept only whoever has the session's key.

Invariant: the key lies in a folder of mode 0700, in a file of mode 0600, and goes with the session.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from distributed import Nanny, Scheduler, SpecCluster, Worker
from distributed.security import Security

from headroom.experiment.machine.openssl import NEW_KEY, openssl

_ROLES = ("scheduler", "worker", "client")


class QuietScheduler(Scheduler):  # type: ignore[misc] # Dask is untyped
    """A scheduler without Dask's web server, which would open port 8787 even without dashboard."""

    def start_http_server(self, *_words: object, **_more: object) -> None:
        """Start nothing."""


class QuietWorker(Worker):  # type: ignore[misc] # as above
    """A worker without Dask's web server."""

    def start_http_server(self, *_words: object, **_more: object) -> None:
        """Start nothing."""


@contextmanager
def private_cluster(worker_count: int) -> Iterator[SpecCluster]:
    """Yield a cluster on the loopback interface, each worker a process with one thread.

    Raises
    ------
    EnvironmentUnfitError
        OpenSSL is missing or refuses.
    """
    with TemporaryDirectory(prefix="headroom-keys-") as folder:  # of mode 0700
        security = _security(Path(folder))
        common = {"host": "127.0.0.1", "protocol": "tls://", "security": security}
        nanny = {**common, "nthreads": 1, "memory_limit": 0, "worker_class": QuietWorker}
        with SpecCluster(
            scheduler={"cls": QuietScheduler, "options": {**common, "dashboard": False}},
            workers={number: {"cls": Nanny, "options": nanny} for number in range(worker_count)},
            security=security,
            silence_logs=False,
        ) as cluster:
            yield cluster


def _security(folder: Path) -> Security:
    """Return what makes Dask accept one certificate alone, made now; it is its own authority."""
    key, certificate = make_certificate(folder)
    files: dict[str, str] = {}
    for role in _ROLES:
        files |= {f"tls_{role}_cert": str(certificate), f"tls_{role}_key": str(key)}
    return Security(require_encryption=True, tls_ca_file=str(certificate), **files)


def make_certificate(folder: Path) -> tuple[Path, Path]:
    """Return a new key, and a certificate for it."""
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    key.touch(mode=0o600)
    files = ("-keyout", str(key), "-out", str(certificate))
    openssl(folder, "req", "-x509", *NEW_KEY, "-days", "30", "-subj", "/CN=headroom", *files,
        cure="; or leave --on out: Headroom's own processes need no network")  # fmt: skip
    return key, certificate
