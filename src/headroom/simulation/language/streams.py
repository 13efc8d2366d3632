"""Map names of random streams to keys.

Each source of randomness has a name; the kernel mixes the key of the name with the seed of the run.
Adding a source therefore never shifts the draws of another, and two models that share names share
draws (common random numbers).
"""

from hashlib import blake2b


def stream_key(name: str) -> int:
    """Return the 64-bit key of the stream `name`.

    Examples
    --------
    >>> stream_key("class users: think") == stream_key("class users: think")
    True
    """
    return int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "little")
