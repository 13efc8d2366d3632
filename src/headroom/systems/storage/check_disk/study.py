"""Adapt the study `disk_check` to the disks that a user names.

Invariant: pure. The questions of an experiment stay those of the study; its targets are replaced,
and experiments that these disks cannot run are left out whole.
"""

import copy
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from headroom.analysis.statistics.intervals import CONFIDENCE
from headroom.analysis.statistics.signed_ranks import fewest_pairs
from headroom.report.words import join_words
from headroom.systems.storage.check_disk.verdicts import verdict_claims

Table: TypeAlias = dict[str, Any]
_NAME_AT_MOST = 60
_COMPARED = re.compile(
    r"(class\.\w+\.)?(throughput|bytes_per_s|(service|response)_s_p\d+|run_s|transactions_per_s)"
)
"""Metrics of the disk, not of the tool or of the load."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Disk:
    """The disk to check.

    Parameters
    ----------
    path
        Absolute path of a folder, a block device or a file.
    kind
        Kind of the target that it is, as in a study: ``folder`` gets files of Headroom's own.
    """

    path: Path
    kind: str

    @property
    def is_folder(self) -> bool:
        """Whether files are made in it, so that nothing existing is touched."""
        return self.kind == "folder"

    def table(self, template: Mapping[str, Any]) -> Table:
        """Return the table of this target in place of that of the study."""
        kind = template["kind"] if self.is_folder else self.kind
        return {**template, "kind": kind, "path": str(self.path)}


def place_name(path: Path) -> str:
    """Return a path as part of the name of a folder.

    Examples
    --------
    >>> place_name(Path("/dev/nvme0n1")), place_name(Path("/mnt/new disk")), place_name(Path("/"))
    ('nvme0n1', 'mnt-new-disk', 'root')
    """
    text = str(path).removeprefix("/dev/")
    return re.sub(r"[^A-Za-z0-9_]+", "-", text).strip("-")[-_NAME_AT_MOST:].strip("-") or "root"


def target_names(disks: Sequence[Disk]) -> list[str]:
    """Return a name for each disk: the last part of its path, more of it if two agree.

    Examples
    --------
    >>> target_names([Disk(path=Path(f"/mnt/{name}"), kind="folder") for name in ("old", "1")])
    ['old', 'disk-1']
    >>> target_names([Disk(path=Path(f"/{name}/data"), kind="folder") for name in ("a", "b")])
    ['a-data', 'b-data']
    """
    short = [place_name(Path(disk.path.name)) for disk in disks]
    long = [place_name(disk.path) for disk in disks]
    chosen = short if len(set(short)) == len(short) else long
    names = [name if name[0].isalpha() else f"disk-{name}" for name in chosen]
    if len(set(names)) == len(names):
        return names
    return [f"disk-{number}" for number in range(1, len(names) + 1)]


def study_of(template: Mapping[str, Any], disks: Sequence[Disk], *, is_read_only: bool) -> Table:
    """Return the content of the study that checks `disks`.

    Parameters
    ----------
    template
        Content of the study `disk_check`.
    disks
        One: all questions and predictions. Several: the measurements, side by side.
    is_read_only
        Leave out experiments that write.
    """
    study = copy.deepcopy(dict(template))
    study.pop("ask")  # It asks of one disk, and of experiments that others cannot run.
    experiments = [table for table in study["experiment"] if _can_be_asked(table, disks)]
    if is_read_only:
        experiments = [_reading(table) for table in experiments if _reads(table)]
    experiments = _with_sources(experiments)
    names = target_names(disks)
    for experiment in experiments:
        _name_targets(experiment, disks, names)
    study["experiment"] = experiments
    claims = list(_claims(study["claim"], experiments, names))
    study["claim"] = [*verdict_claims(experiments, names), *claims] if len(names) > 1 else claims
    return study | _words(study, disks)


def left_out(template: Mapping[str, Any], study: Mapping[str, Any]) -> list[str]:
    """Return the names of the experiments that `study` lacks."""
    kept = {experiment["name"] for experiment in study["experiment"]}
    return [
        experiment["name"]
        for experiment in template["experiment"]
        if experiment["name"] not in kept
    ]


def _words(study: Table, disks: Sequence[Disk]) -> Table:
    if len(disks) == 1:
        return {"title": study["title"].replace("this device", str(disks[0].path))}
    paths = [str(disk.path) for disk in disks]
    return {
        "title": f"Which is faster: {', '.join(paths[:-1])} or {paths[-1]}?",
        "question": f"Which of {join_words(paths)} is faster, at what, and by how much?",
    }


def _can_be_asked(experiment: Table, disks: Sequence[Disk]) -> bool:
    """Return whether all disks have what the experiment needs; several are not predicted."""
    targets = experiment["system"].get("targets", {}).values()
    needs_folder = any(target["kind"] == "folder" for target in targets)
    is_predicted = not targets or "fit" in experiment
    is_possible = not needs_folder or all(disk.is_folder for disk in disks)
    return is_possible and not (is_predicted and len(disks) > 1)


def _reads(experiment: Table) -> bool:
    """Return whether an experiment has points that only read."""
    fixed = experiment.get("fixed", {})
    shares = experiment.get("factors", {}).get("read_share", [fixed.get("read_share", 1.0)])
    is_measured = bool(experiment["system"].get("targets"))
    return is_measured and fixed.get("workload", "micro") == "micro" and 1.0 in shares


def _reading(experiment: Table) -> Table:
    for form in (experiment, experiment.get("quick", {})):
        if "read_share" in form.get("factors", {}):
            form["factors"]["read_share"] = [1.0]
    return experiment


def _with_sources(experiments: Sequence[Table]) -> list[Table]:
    """Leave out predictions from, and comparisons with, an experiment that is left out."""
    kept = list(experiments)
    while True:
        names = {experiment["name"] for experiment in kept}
        whole = [experiment for experiment in kept if _sources(experiment) <= names]
        if len(whole) == len(kept):
            return whole
        kept = whole


def _sources(experiment: Table) -> set[str]:
    given = experiment.get("fit", {}).get("from", [])
    sources = {given} if isinstance(given, str) else set(given)
    return sources | ({experiment["seeds_of"]} if "seeds_of" in experiment else set())


def _name_targets(experiment: Table, disks: Sequence[Disk], names: Sequence[str]) -> None:
    if not experiment["system"].get("targets"):
        return
    forms = [experiment, *([experiment["quick"]] if "quick" in experiment else [])]
    for form in forms:
        for name, target in form.get("system", {}).get("targets", {}).items():
            made = [disk.table(target) for disk in disks]
            own = [name] if len(disks) == 1 else names
            form["system"]["targets"] = dict(zip(own, made, strict=True))
    if len(disks) > 1:
        _compare(experiment, forms, names)


def _compare(experiment: Table, forms: Sequence[Table], names: Sequence[str]) -> None:
    """Run an experiment on all targets in turn, and compare them if it has replications."""
    for form in forms:
        if form is experiment or "factors" in form:
            form["factors"] = {"target": list(names), **form.get("factors", {})}
    metrics = [response for response in experiment["responses"] if _COMPARED.fullmatch(response)]
    if not metrics or experiment["replications"]["count"] == 1:
        return
    fewest = fewest_pairs(1.0 - (1.0 - CONFIDENCE) / (len(metrics) * (len(names) - 1)))
    for form in forms:
        if "replications" in form:
            form["replications"]["count"] = max(form["replications"]["count"], fewest)
    experiment["compare"] = {"factor": "target", "base": names[0], "metrics": metrics}


def _claims(
    claims: Sequence[Table], experiments: Sequence[Table], names: Sequence[str]
) -> Iterator[Table]:
    """Yield the claims about the rest, one for each target if there are several."""
    kept = {experiment["name"] for experiment in experiments}
    for claim in claims:
        if not {claim["experiment"], claim.get("to_experiment", claim["experiment"])} <= kept:
            continue
        if len(names) == 1:
            yield claim
            continue
        for name in names:
            named = {**claim, "name": f"{claim['name']}-{name}", "text": f"{name}: {claim['text']}"}
            for key in {"where", "to"} & claim.keys():
                named[key] = {**claim[key], "target": name}
            yield named
