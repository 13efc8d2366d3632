"""Hosts of an experiment are checked before anything is asked of them."""

from pathlib import Path

import pytest

from headroom.errors import EnvironmentUnfitError, StudyError
from headroom.experiment.study.design import Plan, make_plan
from headroom.experiment.study.file.study_file import load_study
from tests.support.study_sessions import run_study
from tests.support.study_text import Head

STUDY = Head("roles", "Roles", "load").then("""\
HOSTS
replications.count = 1
system = { name = "command", argv = ["true", "ARGUMENT"], service = [SERVICE] }
""")
SERVICE = '{ name = "db", argv = ["sleep", "{db.port}"] }'


def plan_of(folder: Path, hosts: str, *, service: str = SERVICE, argument: str = "") -> Plan:
    text = STUDY.replace("HOSTS", hosts).replace("SERVICE", service).replace("ARGUMENT", argument)
    (folder / "study.toml").write_text(text)
    return make_plan(load_study(folder), quick=False)


@pytest.mark.parametrize(
    ("hosts", "message"),
    [
        ("{ load = 'gen1' }", r"study\.toml:9: .*role 'server' of a service has no host"),
        ("{ server = 'db1' }", "role 'load' of the measured program has no host"),
        ("{ load = 'gen1', server = 'db1', cache = 'c1' }", "no service has the role 'cache'"),
        ("{ load = 'gen 1', server = 'db1' }", r"hosts\.load"),
    ],
)
def test_every_role_has_a_host_and_every_host_a_role(
    tmp_path: Path, hosts: str, message: str
) -> None:
    with pytest.raises(StudyError, match=message):
        plan_of(tmp_path, f"hosts = {hosts}")


TWO = "hosts = { load = 'gen1', server = 'db1' }"


def test_roles_need_services(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="starts no services") as caught:
        plan_of(tmp_path, TWO, service="")
    assert caught.value.cure == 'write host = "gen1"'


def test_one_host_excludes_several(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="exclude each other"):
        plan_of(tmp_path, f"host = 'db1'\n{TWO}")


def test_all_roles_on_one_host_are_that_host(tmp_path: Path) -> None:
    (experiment,) = plan_of(tmp_path, "hosts = { load = 'db1', server = 'db1' }").experiments
    assert (experiment.spec.host, experiment.spec.hosts) == ("db1", {})


@pytest.mark.parametrize(
    ("argument", "service", "message"),
    [
        (
            "{db.log}",
            SERVICE,
            r"\{db\.log\} is on db1, but the role 'load'.* on gen1",
        ),
        ("", SERVICE.replace("{db.port}", "{work}"), r"\{work\} is on gen1"),
    ],
)
def test_files_of_another_host_are_refused(
    tmp_path: Path, argument: str, service: str, message: str
) -> None:
    with pytest.raises(StudyError, match=message):
        plan_of(tmp_path, TWO, service=service, argument=argument)


def test_several_hosts_need_a_cluster(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentUnfitError, match="gen1 and db1, not on this machine") as caught:
        run_study(plan_of(tmp_path, TWO))
    assert "workers announce gen1 and db1 (--on dask://HOST:PORT)" in caught.value.cure
