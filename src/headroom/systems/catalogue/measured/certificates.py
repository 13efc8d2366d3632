"""Certificates for one session: an authority, a server and a client, all with P-256 keys."""

import subprocess
from pathlib import Path

from headroom.errors import EnvironmentUnfitError

CLIENT_SUBJECT = "/CN=headroom-client"
SERVER_NAME = "localhost"
_DAYS = "7"
_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
_EXTENSIONS = {
    "server": f"subjectAltName=DNS:{SERVER_NAME},IP:127.0.0.1\nextendedKeyUsage=serverAuth\n",
    "client": "extendedKeyUsage=clientAuth\n",
}


def make_certificates(folder: Path) -> None:
    """Write ``ca.pem``, ``server.pem``, ``client.pem`` and their ``.key`` files.

    Raises
    ------
    EnvironmentUnfitError
        OpenSSL is missing or refuses.
    """
    authority = ("-out", "ca.pem", "-keyout", "ca.key", "-subj", "/CN=headroom-authority")
    _openssl(folder, "req", "-x509", *_KEY, *authority, "-days", _DAYS)
    for name, extensions in _EXTENSIONS.items():
        (folder / f"{name}.ext").write_text(f"basicConstraints=CA:FALSE\n{extensions}", "ascii")
        subject = f"/CN={SERVER_NAME}" if name == "server" else CLIENT_SUBJECT
        request = ("-out", f"{name}.csr", "-keyout", f"{name}.key", "-subj", subject)
        _openssl(folder, "req", *_KEY, *request)
        issuer = ("-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial")
        files = ("-in", f"{name}.csr", "-out", f"{name}.pem", "-extfile", f"{name}.ext")
        _openssl(folder, "x509", "-req", *issuer, *files, "-days", _DAYS)


def _openssl(folder: Path, *arguments: str) -> None:
    cure = "install the system's package openssl"
    try:
        done = subprocess.run(
            ["openssl", *arguments], cwd=folder, capture_output=True, text=True, check=False
        )
    except OSError as error:
        raise EnvironmentUnfitError("OpenSSL is not installed (no `openssl`)", cure=cure) from error
    if done.returncode:
        said = done.stderr.strip().splitlines()
        reason = said[-1] if said else f"exit code {done.returncode}"
        raise EnvironmentUnfitError(f"`openssl {arguments[0]}` failed: {reason}", cure=cure)
