"""Hosts of an experiment: who measures, and where each role is."""

from dataclasses import replace

import msgspec

from headroom.errors import HeadroomError
from headroom.experiment.protocol.roles import LOAD, roles_of, with_hosts
from headroom.experiment.protocol.suggestions import suggestion
from headroom.experiment.protocol.system import Column, Replays, System
from headroom.experiment.study.file.study_file import LoadedStudy
from headroom.experiment.study.variants import Variant


def checked_hosts(loaded: LoadedStudy, variant: Variant, system: System) -> tuple[Variant, System]:
    """Return the experiment and its system with its hosts; all roles on one host become `host`.

    Raises
    ------
    StudyError
        Nothing is measured, a role has no host, or a host has no role.
    """
    spec = variant.spec
    key = "hosts" if spec.hosts else "host"
    is_measured = system.column is Column.MEASURE and not isinstance(system, Replays)
    if (spec.host or spec.hosts) and not is_measured:
        raise loaded.error(
            variant.key_path(key),
            f"the system {system.name!r} measures nothing, so it has no host",
            cure=f"remove {key}",
        )
    if not spec.hosts:
        return variant, system
    if spec.host:
        raise loaded.error(
            variant.key_path("host"),
            "`host` and `hosts` exclude each other",
            cure="write hosts for roles on several machines, host for one machine",
        )
    _check_roles(loaded, variant, system)
    if len(set(spec.hosts.values())) == 1:
        spec = msgspec.structs.replace(spec, host=spec.hosts[LOAD], hosts={})
        return replace(variant, spec=spec), system
    try:
        return variant, with_hosts(system, spec.hosts)
    except HeadroomError as error:
        raise loaded.relocated(variant.key_path("hosts"), error) from error


def _check_roles(loaded: LoadedStudy, variant: Variant, system: System) -> None:
    hosts, roles = variant.spec.hosts, roles_of(system)
    if tuple(roles) == (LOAD,):
        raise loaded.error(
            variant.key_path("hosts"),
            f"the system {system.name!r} starts no services here, so all of it runs on one host",
            cure=f'write host = "{hosts.get(LOAD) or next(iter(hosts.values()))}"',
        )
    for role in roles:
        if role not in hosts:
            user = "the measured program" if role == LOAD else "a service"
            raise loaded.error(
                variant.key_path("hosts"),
                f"the role {role!r} of {user} has no host",
                cure=f'add {role} = "HOST"',
            )
    for role in hosts:
        if role not in roles:
            raise loaded.error(
                variant.key_path("hosts", role),
                f"no service has the role {role!r}",
                cure=f"{suggestion(role, roles)}, or give a service this role",
            )
