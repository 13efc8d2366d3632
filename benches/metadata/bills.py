"""Ways to carry an operation out, and what one costs in the client, between, and in the database.

A load is closed: each client waits for its answer. Processor time is that of control groups where
the machine has them; the client's is what its process counts of itself during the load.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from benches.harness import Work
from benches.metadata.site import BOUNCER, KNOWN, SERVER, Site, no_bouncer, no_tls, point, site
from headroom.recording.programs import LoadPrograms
from headroom.systems.catalogue.command import companion
from headroom.systems.catalogue.measured.conversion import completions
from headroom.systems.catalogue.measured.jobs import load_jobs
from headroom.systems.catalogue.measured.services import LOAD
from headroom.systems.catalogue.model import DIRECT, LASTING, TCP, TLS

CLIENTS = 8
SECONDS = 1.5
FORMS = {"one-shot": "single", "paper's form": "transaction"}
"""The command alone; begin, command and commit, each sent after the answer to the one before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """A way to carry an operation out.

    Parameters
    ----------
    case
        Of the paper; 4 is without the catalogue.
    is_encrypted
        Whether clients of the database make a TLS connection for each operation.
    between
        The service between client and database, if any.
    cannot
        Returns why it cannot be measured.
    """

    case: int
    resumes: bool = False
    is_encrypted: bool = False
    between: str | None = SERVER
    cannot: Callable[[], str] = lambda: ""


CASE_1, RESUMED, CASE_2, CASE_3, CASE_4 = (
    "case 1, TLS each time", "case 1, resumed TLS", "case 2, TCP each time", "case 3, lasting TCP",
    "case 4, database",
)  # fmt: skip
DIRECT_TLS, BOUNCED = "database, TLS each time", "database, PgBouncer"
WAYS = {
    CASE_1: Way(case=TLS),
    RESUMED: Way(case=TLS, resumes=True),
    CASE_2: Way(case=TCP),
    CASE_3: Way(case=LASTING),
    CASE_4: Way(case=DIRECT, between=None),
    DIRECT_TLS: Way(case=DIRECT, between=None, is_encrypted=True, cannot=no_tls),
    BOUNCED: Way(case=DIRECT, between=BOUNCER, cannot=no_bouncer),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Bill:
    """What an operation cost in one run: processor time (s) in each part, and the rate (1/s).

    Examples
    --------
    >>> Bill(client_s=1e-4, between_s=2e-4, database_s=1e-4, per_s=10.0).all_s
    0.0004
    """

    client_s: float
    between_s: float
    database_s: float
    per_s: float

    @property
    def all_s(self) -> float:
        """Processor time in all processes."""
        return self.client_s + self.between_s + self.database_s


@dataclass(slots=True)
class Contender:
    """Carries operations out, run after run."""

    carry_out: Callable[[], Bill]
    bills: list[Bill] = field(default_factory=list)

    def work(self) -> float:
        """Carry a load out once more; return the processor time of an operation (s)."""
        self.bills.append(self.carry_out())
        return self.bills[-1].all_s

    def again(self, of: Callable[[Bill], float]) -> Work:
        """Return a function that goes through the bills once more, from the first one on."""
        place: Iterator[int] = iter(range(1 << 30))
        return lambda: of(self.bills[next(place)])


def contender(operation: str, form: str, way: Way) -> Contender:
    """Return a contender; the services are started by its first run."""
    return Contender(lambda: measured(site(), job_of(site(), operation, form, way), way.between))


def job_of(place: Site, operation: str, form: str, way: Way) -> dict[str, Any]:
    """Return the job of a run."""
    levels = point(
        case=way.case,
        operation=operation,
        form=FORMS[form],
        clients=CLIENTS,
        resumes=way.resumes,
    )
    job = _job(place, levels, way.between or "db")
    if way.case != DIRECT:
        return job
    if form == "one-shot":
        # The statement alone: whoever writes for the database knows the directory's number.
        for name, statements in place.statements.items():
            job["target"][name] = statements[-1:]
    if way.is_encrypted:
        encrypted = _job(place, {**levels, "case": TLS}, SERVER)
        job["target"]["tls"] = encrypted["target"]["tls"]
        job["connections"] = "per_operation"
    return job


def _job(place: Site, levels: dict[str, Any], service: str) -> dict[str, Any]:
    (job,) = load_jobs(
        levels,
        seed=place.runs + 1,
        addresses=[place.address(service)],
        certificates=place.certificates,
        statements=place.statements,
        known=KNOWN,
        seconds=SECONDS,
        new_prefix=place.new_prefix(),
    )
    return job


def measured(place: Site, job: dict[str, Any], between: str | None) -> Bill:
    """Carry a job out; raise `RuntimeError` if an operation failed."""

    def spent() -> tuple[float, float]:
        return (place.cpu_s(between) if between else 0.0, place.cpu_s("db"))

    with LoadPrograms([str(companion(LOAD)), "--wait", "-"], [job]) as programs:
        before = spent()
        result = programs.run()
        after = spent()
    done = completions(result)
    if not done or result["failures"] or result["problem"]:
        raise RuntimeError(f"the load failed: {result['problem']} {result['failures']}")
    each = [(last - first) / done for first, last in zip(before, after, strict=True)]
    bill = Bill(client_s=0.0, between_s=each[0], database_s=each[1], per_s=done / result["load_s"])
    return replace(bill, client_s=float(result["counters"]["cpu_s"]) / done)
