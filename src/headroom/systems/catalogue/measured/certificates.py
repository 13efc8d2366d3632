"""Certificates for one session: an authority, a server and a client, all with P-256 keys."""

from pathlib import Path

from headroom.experiment.machine.openssl import NEW_KEY, openssl

CLIENT_SUBJECT = "/CN=headroom-client"
SERVER_NAME = "localhost"
_DAYS = "7"
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
    openssl(folder, "req", "-x509", *NEW_KEY, *authority, "-days", _DAYS)
    for name, extensions in _EXTENSIONS.items():
        (folder / f"{name}.ext").write_text(f"basicConstraints=CA:FALSE\n{extensions}", "ascii")
        subject = f"/CN={SERVER_NAME}" if name == "server" else CLIENT_SUBJECT
        request = ("-out", f"{name}.csr", "-keyout", f"{name}.key", "-subj", subject)
        openssl(folder, "req", *NEW_KEY, *request)
        issuer = ("-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial")
        files = ("-in", f"{name}.csr", "-out", f"{name}.pem", "-extfile", f"{name}.ext")
        openssl(folder, "x509", "-req", *issuer, *files, "-days", _DAYS)
