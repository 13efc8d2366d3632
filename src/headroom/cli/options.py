"""Options that several commands share, declared once."""

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from headroom.cli.output import ColorMode

StudyPath: TypeAlias = Annotated[
    Path, typer.Argument(metavar="STUDY", help="Folder of the study, or its study.toml.")
]
Quick: TypeAlias = Annotated[
    bool, typer.Option("--quick", help="The smaller variant that the study defines.")
]
Seed: TypeAlias = Annotated[
    int | None,
    typer.Option("--seed", min=0, max=2**63 - 1, help="Another study seed than the file's."),
]
Settings: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Set a key of the study file: experiment.KEY in all experiments that have it, "
        "NAME.KEY in one; a bare name is a fixed parameter. Repeatable, or several after one. "
        "Results of other settings are kept.",
    ),
]
Jobs: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--jobs", "-j", min=1, envvar="HEADROOM_JOBS", help="Simulations in parallel [cores]."
    ),
]
ShowsAll: TypeAlias = Annotated[
    bool, typer.Option("--all", help="All results, not the answer alone.")
]
AsJson: TypeAlias = Annotated[
    bool, typer.Option("--json", help="Write one JSON document to stdout.")
]
Color: TypeAlias = Annotated[
    ColorMode, typer.Option("--color", help="Colours; NO_COLOR is honoured.", show_default=True)
]
Quiet: TypeAlias = Annotated[
    bool,
    typer.Option("--quiet", "-q", envvar="HEADROOM_QUIET", help="No progress and no notes."),
]
On: TypeAlias = Annotated[
    str,
    typer.Option(
        "--on",
        metavar="CLUSTER",
        help="Run simulations on the Dask cluster at dask://HOST:PORT or tls://HOST:PORT, or on "
        "local-cluster[:WORKERS]; needs headroom-lab[cluster]. Measurements run here. [default: "
        "processes of this machine]",
        show_default=False,
    ),
]
