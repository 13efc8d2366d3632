"""Passwords against published exchanges."""

import struct

import pytest

from headroom.recording.observers.postgres_password import Password


def test_the_exchange_of_rfc_7677_is_repeated() -> None:
    """Oracle: section 3 of RFC 7677, whose client names its user; PostgreSQL leaves that empty."""
    one = Password(user="user", password="pencil", nonce="rOprNGfwEbeRWgbNEkqO")  # noqa: S106
    start = one.answer(struct.pack("!i", 10) + b"SCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0")
    assert start.startswith(b"SCRAM-SHA-256\0")
    one._first = "n=user,r=rOprNGfwEbeRWgbNEkqO"
    challenge = (
        b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
    )
    answer = one.answer(struct.pack("!i", 11) + challenge)
    assert answer.endswith(b"p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=")
    proof = b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="
    assert one.answer(struct.pack("!i", 12) + proof) == b""
    with pytest.raises(ValueError, match="does not know the password itself"):
        one.answer(struct.pack("!i", 12) + b"v=" + b"A" * 43 + b"=")


def test_other_kinds_and_a_missing_password() -> None:
    """Known answer: md5(md5("secret" + "me") + salt), by md5sum."""
    one = Password(user="me", password="secret")  # noqa: S106
    assert one.answer(struct.pack("!i", 0)) == b""
    assert one.answer(struct.pack("!i", 3)) == b"secret\0"
    assert one.answer(struct.pack("!i", 5) + b"salt") == b"md541c83370953958037c7298c50b238bda\0"
    with pytest.raises(ValueError, match="kind 7"):
        one.answer(struct.pack("!i", 7))
    with pytest.raises(ValueError, match="asks for a password"):
        Password(user="me", password="").answer(struct.pack("!i", 3))
    with pytest.raises(ValueError, match="another question"):
        one.answer(struct.pack("!i", 11) + b"r=other,s=AAAA,i=4096")
