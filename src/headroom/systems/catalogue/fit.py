"""The fit method `catalogue.service`: demands of the model `catalogue`, from runs with few clients.

Processor times of clients, server and database are measured for each operation, so the demands of
the paper's cases are differences of them: TLS is case 1 less case 2, a connection case 2 less
case 3. They fall as the load grows, because idle processors have to be woken: the points with the
most clients give them. The share of other programs shows best with one client, who never
waits for itself: the share of the time for which its processes could run that they did run.

Invariant: points with a line, a quota or several servers count for the line alone.

Source: the Utilization Law, Denning and Buzen, *The operational analysis of queueing network
models*, ACM Computing Surveys 10 (1978).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import median
from typing import ClassVar

import msgspec

from headroom.experiment.protocol.fit_method import (
    FitError,
    FittedParameter,
    Found,
    ParameterEvidence,
    Residual,
    SourcePoint,
    Target,
    options_as,
)
from headroom.experiment.protocol.system import Value
from headroom.systems.catalogue.model import DIRECT, LASTING, TCP, TLS

_CASES = (TLS, TCP, LASTING, DIRECT)
_CLIENT, _SERVER, _DATABASE, _LINE = "program", "service.amga1", "service.db", "service.line"
_MACHINE = ("machine_cpus", "machine_share")
_DEMANDS = (
    "client_s", "client_connect_s", "client_tls_s", "service_s", "connect_s", "tls_s",
    "database_s", "login_s", "direct_s",
)  # fmt: skip
_INSERTION, _LINE_S = ("insert_s", "log_s"), "line_s"
_OTHERS = ("server_cpus", "rtt_s", "rate_per_s", "resumes", "pause_s")
"""Parameters of a point that changes more than its case, operation and clients."""
_SHORTEST_S = 1e-8
_TWO_FLUSHES = 1.5
"""Flushes for which an insertion waits if others insert: the rest of one, and its own."""


class ServiceOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[experiment.fit.options]` of the method `catalogue.service`: there are none."""


class CatalogueService:
    """Demands of clients, server, database and log.

    Examples
    --------
    >>> CatalogueService().parameter_names(ServiceOptions())[:3]
    ('machine_cpus', 'machine_share', 'client_s')
    """

    name: ClassVar[str] = "catalogue.service"
    options_type: ClassVar[type[msgspec.Struct]] = ServiceOptions

    def parameter_names(self, options: msgspec.Struct) -> tuple[str, ...]:  # noqa: ARG002
        """Return the fitted parameters of the model `catalogue`."""
        return (*_MACHINE, *_DEMANDS, *_INSERTION, _LINE_S)

    def model_config(
        self,
        point: SourcePoint,
        target: Target,
        options: msgspec.Struct,  # noqa: ARG002 - the protocol's
    ) -> Mapping[str, Value]:
        """Return the model's parameters as the source point had them, without the fitted ones."""
        return {name: point.config[name] for name in target.parameters if name in point.config}

    def fit(self, points: Sequence[SourcePoint], target: Target, options: msgspec.Struct) -> Found:
        """Return the demands.

        Raises
        ------
        FitError
            A case, an operation or a point with one client is missing.
        """
        options_as(ServiceOptions, options)
        if foreign := [one.experiment for one in points if "form" not in one.config]:
            raise FitError(
                f"{foreign[0]} is not an experiment of the system catalogue",
                cure="let `from` name experiments of the system catalogue",
            )
        plain = [one for one in points if _is_plain(one)]
        queries, insertions = _by_case(plain, "query"), _by_case(plain, "insert")
        _need_one_client(queries)
        cpus = float(target.config["machine_cpus"]) if target.is_replicate else _cpus(plain)
        found: dict[str, float] = {"machine_share": _share(queries), **_demands(_largest(queries))}
        if insertions:
            found["insert_s"] = _more(insertions, queries)
            found["log_s"] = _log_s(insertions, found["machine_share"])
        elif target.config.get("operation") == "insert":
            raise FitError(
                "no point with few clients has operation = insert, which the prediction needs",
                cure="measure the four cases with it",
            )
        if lines := [one for one in points if one.config["rtt_s"]]:
            fewest = min(lines, key=lambda one: int(one.config["clients"]))
            found[_LINE_S] = _cpu_s(fewest, _LINE)
        return Found(
            parameters=tuple(_parameters(round(cpus), found, target)),
            residuals=tuple(_residuals(plain, found)),
        )


def _parameters(cpus: int, found: Mapping[str, float], target: Target) -> Iterator[FittedParameter]:
    """Yield all parameters; those that no point shows are 0, as they are without a fit."""
    yield FittedParameter(
        name="machine_cpus", value=cpus, unit="1", low=cpus, high=cpus,
        evidence=(ParameterEvidence(code="observed"),),
    )  # fmt: skip
    for name, value in found.items():
        yield FittedParameter(name=name, value=value, unit=target.parameters[name].unit)
    for name in (*_INSERTION, _LINE_S):
        if name not in found:
            note = "unknown: no point has " + ("a line" if name == _LINE_S else "insertions")
            yield FittedParameter(name=name, value=0.0, unit="s", note=note, is_determined=False)


def _is_plain(point: SourcePoint) -> bool:
    """Return whether nothing but clients, one server and the database work at a point."""
    config = point.config
    is_ours = config.get("architecture", "pool") == "pool" and config.get("fault", "none") == "none"
    is_single = (config["servers"], config["form"]) == (1, "transaction")
    return is_ours and is_single and not any(config.get(name) for name in _OTHERS)


def _by_case(points: Iterable[SourcePoint], operation: str) -> dict[int, list[SourcePoint]]:
    """Return the points of each case of an operation, those with the fewest clients first."""
    cases: dict[int, list[SourcePoint]] = {}
    for point in sorted(points, key=lambda one: int(one.config["clients"])):
        if point.config["operation"] == operation:
            cases.setdefault(int(point.config["case"]), []).append(point)
    return cases


def _need_one_client(queries: Mapping[int, Sequence[SourcePoint]]) -> None:
    lacking = [
        str(case)
        for case in _CASES
        if case not in queries or queries[case][0].config["clients"] != 1
    ]
    if lacking:
        raise FitError(
            f"case {', '.join(lacking)} has no result with operation = query, clients = 1, one "
            "server, and neither quota nor line",
            cure="measure all four cases with one client in an experiment of `from`",
        )


def _largest(cases: Mapping[int, Sequence[SourcePoint]]) -> dict[int, SourcePoint]:
    return {case: found[-1] for case, found in cases.items()}


def _value(point: SourcePoint, metric: str) -> float:
    if metric not in point.observed:
        raise FitError(
            f"{point.experiment} reports no {metric}",
            cure="let `from` name experiments of the system catalogue",
        )
    return point.observed[metric].value


def _cpu_s(point: SourcePoint, *groups: str) -> float:
    return sum(_value(point, f"{group}.cpu_s_per_op") for group in groups)


def _groups(point: SourcePoint) -> tuple[str, ...]:
    """Return the groups that work; in case 4 the server is idle."""
    idle = point.config["case"] == DIRECT
    return (_CLIENT, _DATABASE) if idle else (_CLIENT, _SERVER, _DATABASE)


def _cpus(points: Sequence[SourcePoint]) -> float:
    """Return the processors: the utilization of a group is its share of them."""
    busy = [_value(one, "throughput") * _cpu_s(one, _CLIENT) for one in points]
    shares = [_value(one, f"{_CLIENT}.cpu.utilization") for one in points]
    found = [one / share for one, share in zip(busy, shares, strict=True) if share > 0.0]
    return max(median(found), 1.0) if found else 1.0


def _share(queries: Mapping[int, Sequence[SourcePoint]]) -> float:
    """Return the share of the time for which the processes of one client could run and did."""
    alone = [found[0] for found in queries.values()]
    ran_s = sum(_work_seen_s(one) for one in alone)
    waited_s = sum(_value(one, f"{g}.queue_s_per_op") for one in alone for g in _groups(one))
    return ran_s / (ran_s + waited_s)


def _demands(at: Mapping[int, SourcePoint]) -> dict[str, float]:
    """Return the demands (s) of a query."""
    client = {case: _cpu_s(point, _CLIENT) for case, point in at.items()}
    server = {case: _cpu_s(at[case], _SERVER) for case in (TLS, TCP, LASTING)}
    database = {case: _cpu_s(point, _DATABASE) for case, point in at.items()}
    database_s = (database[TCP] + database[LASTING]) / 2.0
    found = {
        "client_s": client[LASTING],
        "client_connect_s": client[TCP] - client[LASTING],
        "client_tls_s": client[TLS] - client[TCP],
        "service_s": server[LASTING],
        "connect_s": server[TCP] - server[LASTING],
        "tls_s": server[TLS] - server[TCP],
        "database_s": database_s,
        "login_s": database[TLS] - database_s,
        # Clients of the database may work more, or less, than those of the catalogue.
        "direct_s": database[DIRECT] - database_s + client[DIRECT] - client[LASTING],
    }
    least = {"service_s": _SHORTEST_S, "database_s": _SHORTEST_S}
    return {name: max(value, least.get(name, 0.0)) for name, value in found.items()}


def _more(
    insertions: Mapping[int, Sequence[SourcePoint]], queries: Mapping[int, Sequence[SourcePoint]]
) -> float:
    """Return how much more processor time (s) an insertion needs than a query.

    Insertions wait for the log, so as many clients keep the processors less busy than with queries,
    and more of their time is wake-ups. The query that keeps them about as busy is the fair one.
    """
    more = []
    for case, found in insertions.items():
        insertion = found[-1]
        query = min(queries[case], key=lambda one: abs(_busy(one) - _busy(insertion)))
        more.append(_work_seen_s(insertion) - _work_seen_s(query))
    return max(median(more), 0.0)


def _work_seen_s(point: SourcePoint) -> float:
    return _cpu_s(point, *_groups(point))


def _busy(point: SourcePoint) -> float:
    """Return the processors that all processes of a point keep busy."""
    return _value(point, "throughput") * _work_seen_s(point)


def _log_s(insertions: Mapping[int, Sequence[SourcePoint]], share: float) -> float:
    """Return the time (s) of a flush: the part of the response time that no processor explains."""
    flushes = []
    for point in (one for found in insertions.values() for one in found):
        clients = int(point.config["clients"])
        response_s = clients / _value(point, "throughput")
        rest_s = response_s - _work_seen_s(point) / share
        flushes.append(rest_s / (1.0 if clients == 1 else _TWO_FLUSHES))
    return max(median(flushes), 0.0)


def _residuals(points: Sequence[SourcePoint], found: Mapping[str, float]) -> Iterator[Residual]:
    """Yield the processor time of an operation, observed and by the demands."""
    for point in points:
        is_insertion = point.config["operation"] == "insert"
        if is_insertion and "insert_s" not in found:
            continue
        yield Residual(
            experiment=point.experiment,
            levels=dict(point.levels),
            metric="processor time of an operation",
            unit="s",
            observed=_work_seen_s(point),
            fitted=_work_s(int(point.config["case"]), found)
            + is_insertion * found.get("insert_s", 0.0),
        )


def _work_s(case: int, found: Mapping[str, float]) -> float:
    """Return the processor time (s) of a query."""
    names = ["client_s", "database_s"]
    names += ["direct_s"] if case == DIRECT else ["service_s"]
    names += ["connect_s", "client_connect_s"] if case in {TLS, TCP} else []
    names += ["tls_s", "client_tls_s", "login_s"] if case == TLS else []
    return sum(found[name] for name in names)
