"""The vendored libraries equal the published ones."""

import hashlib
import re
from importlib.resources import files

VENDOR = files("headroom.report") / "vendor"
ROW = re.compile(r"^\| `([\w.-]+\.js)` \| .* `([\w-]+\.LICENSE)` \| `([0-9a-f]{64})` \|$", re.M)


def test_every_vendored_file_has_its_published_sum_and_its_licence() -> None:
    rows = ROW.findall((VENDOR / "README.md").read_text(encoding="utf-8"))
    sums = {name: digest for name, _, digest in rows}
    found = {
        entry.name: hashlib.sha256(entry.read_bytes()).hexdigest()
        for entry in VENDOR.iterdir()
        if entry.name.endswith(".js")
    }
    assert found == sums
    assert len(found) == 3
    for _, licence, _ in rows:
        assert "Redistribution" in (VENDOR / licence).read_text(encoding="utf-8")
