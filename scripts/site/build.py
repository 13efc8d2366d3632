"""Build the site: `make site`.

The site needs no server: open `build/site/index.html`. Notebooks are executed, unless
``--no-notebooks`` is given.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from scripts.documents import ROOT
from scripts.site.staging import stage

SITE = ROOT / "build" / "site"
_CONF = Path(__file__).with_name("conf.py")


def build(to: Path, *, with_notebooks: bool) -> None:
    """Build the site into a folder, which is replaced; raise if a page has a defect.

    Raises
    ------
    subprocess.CalledProcessError
        Sphinx stopped at a warning, such as a link that leads nowhere.
    """
    with tempfile.TemporaryDirectory() as sources, tempfile.TemporaryDirectory() as made:
        stage(Path(sources))
        shutil.copyfile(_CONF, Path(sources) / "conf.py")
        mode = "cache" if with_notebooks else "off"
        subprocess.run(
            [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-j", "auto",
             "-d", f"{made}/trees", "-b", "html", sources, f"{made}/site"],
            check=True,
            env={**os.environ, "HEADROOM_SITE_NOTEBOOKS": mode},
        )  # fmt: skip
        shutil.rmtree(to, ignore_errors=True)
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(f"{made}/site", to)


def main(arguments: list[str]) -> int:
    """Build the site and print where it is."""
    try:
        build(SITE, with_notebooks="--no-notebooks" not in arguments)
    except subprocess.CalledProcessError:
        print("the site was not built: see the messages above", file=sys.stderr)
        return 1
    print((SITE / "index.html").as_uri())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
