"""Passwords of PostgreSQL: in clear text, as MD5, and by SCRAM-SHA-256.

Invariant: a password is sent in clear text only if the server asks for it so; the server has proved
that it knows the password too before SCRAM succeeds.

Sources: PostgreSQL documentation, "Frontend/Backend Protocol", section "SASL Authentication";
RFC 5802 and RFC 7677.
"""

import base64
import hashlib
import hmac
import secrets
import struct
from dataclasses import dataclass, field

_DONE, _CLEAR, _MD5, _SASL, _CONTINUE, _FINAL = 0, 3, 5, 10, 11, 12
_MECHANISM = b"SCRAM-SHA-256"
_MOST_ITERATIONS = 10_000_000


def _nonce() -> str:
    return base64.b64encode(secrets.token_bytes(18)).decode()


@dataclass(slots=True, kw_only=True)
class Password:
    """Answers what a server asks of a user.

    Parameters
    ----------
    nonce
        Random text, new for each connection.
    """

    user: str
    password: str
    nonce: str = field(default_factory=_nonce)
    _first: str = ""
    _proof: bytes = b""

    def answer(self, content: bytes) -> bytes:
        """Return the answer to a message of authentication; empty if none is due.

        Raises
        ------
        ValueError
            There is no password, or the server wants or says what is not known here.
        """
        (code,) = struct.unpack("!i", content[:4])
        if code != _DONE and not self.password:
            raise ValueError("it asks for a password")
        match code:
            case 0:
                return b""
            case 3:
                return self.password.encode() + b"\0"
            case 5:
                return _md5(self.user, self.password, content[4:8])
            case 10 if _MECHANISM in content[4:].split(b"\0"):
                self._first = f"n=,r={self.nonce}"
                message = b"n,," + self._first.encode()
                return _MECHANISM + b"\0" + struct.pack("!i", len(message)) + message
            case 11:
                return self._final(content[4:].decode())
            case 12:
                self._check(content[4:].decode())
                return b""
        raise ValueError(f"it asks for authentication of kind {code}, which is not known here")

    def _final(self, challenge: str) -> bytes:
        fields = dict(one.split("=", 1) for one in challenge.split(","))
        rounds = int(fields["i"])
        if not fields["r"].startswith(self.nonce) or not 0 < rounds <= _MOST_ITERATIONS:
            raise ValueError("it answers another question than was asked")
        salt = base64.b64decode(fields["s"])
        salted = hashlib.pbkdf2_hmac("sha256", self.password.encode(), salt, rounds)
        bare = f"c=biws,r={fields['r']}"
        signed = f"{self._first},{challenge},{bare}".encode()
        key = _hmac(salted, b"Client Key")
        signature = _hmac(hashlib.sha256(key).digest(), signed)
        proof = bytes(one ^ two for one, two in zip(key, signature, strict=True))
        self._proof = _hmac(_hmac(salted, b"Server Key"), signed)
        return f"{bare},p={base64.b64encode(proof).decode()}".encode()

    def _check(self, answer: str) -> None:
        given = base64.b64decode(answer.removeprefix("v="))
        if not hmac.compare_digest(given, self._proof):
            raise ValueError("it does not know the password itself")


def _md5(user: str, password: str, salt: bytes) -> bytes:
    inner = hashlib.md5(f"{password}{user}".encode(), usedforsecurity=False).hexdigest()
    outer = hashlib.md5(inner.encode() + salt, usedforsecurity=False).hexdigest()
    return f"md5{outer}\0".encode()


def _hmac(key: bytes, text: bytes) -> bytes:
    return hmac.new(key, text, hashlib.sha256).digest()
