"""Programs: the steps of a job through stations and pools, built line by line.

A program is kept as the flat list that the kernel reads: blocks open with their own step and close
with ``end``. Each step remembers the line on which the user wrote it, for messages; the line is not
part of the model's data. `headroom.simulation.checks.structure` parses the list into a tree.
"""

import copy
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from headroom.simulation.errors import SimulationError, caller_location
from headroom.simulation.language.amounts import Amount, amount_data, as_amount
from headroom.simulation.language.arguments import check_part_count, is_number, is_whole
from headroom.simulation.language.blocks import Attempt, Branch, Fork, Policy
from headroom.simulation.language.expression import Attribute, Operand
from headroom.simulation.language.network import Network
from headroom.simulation.language.stations import Pool, Station
from headroom.simulation.language.step import Step
from headroom.simulation.language.streams import stream_key
from headroom.simulation.language.with_block import Block, block
from headroom.simulation.laws.distribution import Distribution

# Statements allowed directly inside blocks that hold parts.
_PARTS = {
    "branch": "cases",
    "fork": "arms",
    "attempt": "parts (work, failed)",
    "network": "nodes",
}


class Program:
    """The steps of a job; made by `Model.program`.

    Times and counts are numbers, distributions (drawn each time) or expressions (computed by the
    job each time). Times are in the model's time unit.

    Examples
    --------
    >>> from headroom.simulation import Model, constant, exponential
    >>> model = Model("shop", time_unit="ms")
    >>> web = model.station("web", servers=4)
    >>> request = model.program("request")
    >>> request.use(web, exponential(5))
    >>> with request.loop(3):
    ...     request.delay(constant(1))
    >>> [step.op for step in request.steps]
    ['use', 'loop', 'delay', 'end']
    """

    def __init__(self, name: str, model_id: int) -> None:
        self.name = name
        self.model_id = model_id
        self.location = caller_location()
        self.steps: list[Step] = []
        self._open: list[str] = []
        self._counts: Counter[str] = Counter()
        self.unentered: dict[int, Block[Any]] = {}

    def __repr__(self) -> str:
        from headroom.simulation.language.model_text import program_text  # noqa: PLC0415 - few print

        return program_text(self)

    def use(
        self,
        station: Station,
        service: Operand,
        *,
        reserve: bool = False,
        patience: Operand | None = None,
    ) -> None:
        """Queue for a server of `station` and occupy it for `service`.

        Parameters
        ----------
        station
            Station with the queue and the servers.
        service
            Time, divided by the server's speed.
        reserve
            Start service only when a place is free at the next station, which must follow directly
            (blocking before service).
        patience
            Longest wait for a server (None: no limit), drawn on arrival. Then the job leaves the
            queue and its innermost `attempt` fails; a job without one is lost. Service does not
            count, and a job whose service was interrupted stays.

        Examples
        --------
        Callers hang up after 30 s on average, and a quarter of them calls again:

        >>> from headroom.simulation import Model, exponential, simulate
        >>> model = Model("call centre", time_unit="s")
        >>> agents, call = model.station("agents", servers=3), model.program("call")
        >>> with call.attempt() as attempt:
        ...     with attempt.work():
        ...         call.use(agents, exponential(60), patience=exponential(30))
        ...     with attempt.failed(), call.branch() as branch:
        ...         with branch.case(0.25):
        ...             call.delay(exponential(120))
        ...             call.use(agents, exponential(60))
        ...         with branch.otherwise():
        ...             pass
        >>> model.open_class("callers", call, interarrival=exponential(20))
        >>> bool(simulate(model, seed=1).stations.columns["left_count"][-1, 0] > 0)
        True
        """
        self._check_own(station, Station, "station")
        source = self._source(f"use {station.name}")
        amount = as_amount(service, f"the service time at station {station.name!r}", self.model_id)
        data: dict[str, object] = {"station": station.name}
        if reserve:
            data["reserve"] = True
        if patience is not None:
            self._check_queue(station)
        limits = self._patience(patience, f"at station {station.name!r}", source, data)
        self._add("use", data, source, service=amount, **limits)

    def _check_queue(self, station: Station) -> None:
        """Refuse patience at a station without a queue."""
        why = {
            "infinite": "every job has a server",
            "ps": "all share its servers at once",
            "lcfs_preempt": "each arrival is served at once",
        }.get(station.discipline)
        if why and station.limit is None and not station.blocks:
            raise self._error(
                f"has patience at station {station.name!r}, where no job waits for a first "
                f"service: {why}",
                cure="leave patience out, give a ps station a limit=, or write "
                "attempt(timeout=...), which ends the service too",
            )

    def _patience(
        self, patience: Operand | None, where: str, source: str, data: dict[str, object]
    ) -> dict[str, Amount]:
        """Put a patience into the data of a step; return it as an amount of the step."""
        if patience is None:
            return {}
        amount = as_amount(patience, f"the patience {where}", self.model_id)
        its_source = f"{source}: patience"
        data["patience"] = amount_data(amount, its_source)
        data["patience_stream"] = stream_key(its_source)
        return {"patience": amount}

    def use_one_of(
        self,
        stations: Sequence[Station],
        service: Operand,
        *,
        policy: Policy = "shortest_queue",
        by: Operand | None = None,
        patience: Operand | None = None,
    ) -> None:
        """Use the station among `stations` that `policy` chooses, as `branch` does.

        ``"probability"`` chooses each equally often; `patience` is as in `use`.

        Examples
        --------
        >>> from headroom.simulation import Model, exponential, offered_loads
        >>> model = Model("farm", time_unit="ms")
        >>> servers = [model.station(f"server {number}") for number in range(3)]
        >>> request = model.program("request")
        >>> request.use_one_of(servers, exponential(5), policy="two_choices")
        >>> model.open_class("visitors", request, interarrival=exponential(2))
        >>> {name: round(load, 3) for name, load in offered_loads(model).items()}
        {'server 0': 0.833, 'server 1': 0.833, 'server 2': 0.833}
        """
        if not isinstance(stations, Sequence) or not stations:
            raise self._error(
                f"uses one of {stations!r}", cure="give a list of one or more stations"
            )
        with self.branch(policy, by=by) as branch:
            for station in stations:
                self._check_own(station, Station, "station")
                with branch._equal_case(station, len(stations)):
                    self.use(station, service, patience=patience)

    def delay(self, time: Operand) -> None:
        """Let `time` pass without occupying anything."""
        amount = as_amount(time, "the time of a delay", self.model_id)
        self._add("delay", {}, self._source("delay"), time=amount)

    def acquire(self, pool: Pool, tokens: int = 1, *, patience: Operand | None = None) -> None:
        """Wait for `tokens` (1 to the size of the pool) and hold them until released.

        `patience` is as in `use`.
        """
        self._check_own(pool, Pool, "pool")
        if not is_whole(tokens) or not 1 <= tokens <= pool.tokens:
            raise self._error(
                f"acquires {tokens} tokens of pool {pool.name!r}, which has {pool.tokens}",
                cure=f"acquire 1 to {pool.tokens} tokens, or make the pool larger",
            )
        data: dict[str, object] = {"pool": pool.name, "tokens": int(tokens)}
        if patience is None:
            self._add("acquire", data)
            return
        limits = self._patience(
            patience, f"at pool {pool.name!r}", self._source(f"acquire {pool.name}"), data
        )
        self._add("acquire", data)
        last = self.steps[-1]
        self.steps[-1] = Step(last.data, last.location, limits)

    def release(self, pool: Pool, tokens: int = 1) -> None:
        """Give `tokens` back."""
        self._check_own(pool, Pool, "pool")
        if not is_whole(tokens) or tokens < 1:
            raise self._error(
                f"releases {tokens} tokens of pool {pool.name!r}", cure="release 1 or more tokens"
            )
        self._add("release", {"pool": pool.name, "tokens": int(tokens)})

    @block
    def holding(
        self, pool: Pool, tokens: int = 1, *, patience: Operand | None = None
    ) -> Iterator[None]:
        """Hold `tokens` of `pool` during the steps of the block; `patience` is as in `acquire`."""
        self.acquire(pool, tokens, patience=patience)
        yield
        self.release(pool, tokens)

    def set(self, attribute: Attribute, value: Operand) -> None:
        """Give the job's `attribute` a new value: a number, a draw, or an expression.

        Examples
        --------
        >>> from headroom.simulation import Model, exponential
        >>> model = Model("files", time_unit="ms")
        >>> disk, size = model.station("disk"), model.attribute("size")
        >>> read = model.program("read")
        >>> read.set(size, exponential(8))
        >>> read.use(disk, 2 + size * 0.5)
        >>> [step.op for step in read.steps]
        ['set', 'use']
        """
        self._check_own(attribute, Attribute, "attribute")
        word = f"the value of attribute {attribute.name!r}"
        amount = as_amount(value, word, self.model_id, may_be_negative=True)
        source = self._source(f"set {attribute.name}")
        self._add("set", {"attribute": attribute.name}, source, value=amount)

    def prioritize(self, value: Operand) -> None:
        """Give the job another priority for all that follows; the larger, the more urgent."""
        amount = as_amount(value, "a priority", self.model_id, may_be_negative=True)
        self._add("prioritize", {}, self._source("prioritize"), value=amount)

    def set_servers(self, station: Station, servers: Operand) -> None:
        """Change the number of servers of `station` (0 or more; a fraction is rounded).

        A busy server that goes ends its service first. Any program may do it, not only a
        `Model.controller`.
        """
        self._check_own(station, Station, "station")
        differ = len(set(station.speeds or ())) > 1
        if station.discipline == "infinite" or differ:
            why = "servers of different speed" if differ else "infinitely many servers"
            raise self._error(
                f"changes the number of servers of station {station.name!r}, which has {why}",
                cure="change its speed, or make a station of each speed",
            )
        self._change("servers", station.name, servers)

    def set_speed(self, station: Station, factor: Operand) -> None:
        """Let all servers of `station` work at `factor` (> 0) times their own speed from now on.

        The rest of services in progress changes as well.
        """
        self._check_own(station, Station, "station")
        self._change("speed", station.name, factor)

    def set_tokens(self, pool: Pool, tokens: Operand) -> None:
        """Change the number of tokens of `pool` (0 or more; a fraction is rounded).

        If fewer remain than are held, returned ones are withdrawn.
        """
        self._check_own(pool, Pool, "pool")
        self._change("tokens", pool.name, tokens)

    def _change(self, kind: str, name: str, value: Operand) -> None:
        word = f"the {kind} of {name!r}"
        if kind == "speed" and is_number(value) and not value > 0:
            raise self._error(f"sets {word} to {value!r}", cure="give a number above 0")
        amount = as_amount(value, word, self.model_id)
        self._add("change", {"of": {kind: name}}, self._source(f"set {kind} {name}"), value=amount)

    @block
    def loop(self, count: Operand) -> Iterator[None]:
        """Repeat the steps of the block `count` times, drawn or computed on entry and rounded."""
        if isinstance(count, bool):
            raise self._error(f"repeats a loop {count} times", cure="give an int of 0 or more")
        amount = as_amount(count, "the count of a loop", self.model_id)
        if isinstance(amount, Distribution) and not amount.is_whole:
            raise self._error(
                f"repeats a loop {amount} times",
                cure="give an int, or a discrete distribution of ints",
            )
        self._add("loop", {}, self._source("loop"), count=amount)
        with self._block("loop"):
            yield

    @block
    def branch(
        self, policy: Policy = "probability", *, by: Operand | None = None
    ) -> Iterator[Branch]:
        """Take one of the cases of the block.

        Parameters
        ----------
        policy
            ``"probability"``: cases are `Branch.case` with a probability, or `Branch.when` with a
            condition of the job. ``"round_robin"``: one after the other. ``"shortest_queue"``: the
            case whose station or pool (`Branch.case` with `of`) has the fewest jobs.
            ``"two_choices"``: the shorter of two drawn at random (Mitzenmacher 2001). ``"hash"``:
            equal values of `by` take the same case. ``"index"``: the case whose number, counted
            from 0, is the value of `by`; another value ends the run with an error.
        by
            Expression for ``"hash"`` and ``"index"``.
        """
        builder = Branch(self, policy, by)
        self._add("branch", {}, builder.source)
        with self._block("branch"):
            index = len(self.steps) - 1
            yield builder
            self.steps[index].data.update(builder._choice())

    @block
    def network(self) -> Iterator[Network]:
        """Walk from node to node along random or chosen routes, until a route leaves.

        Jobs enter at the first node.

        Examples
        --------
        >>> from headroom.simulation import Model, expected_visits, exponential
        >>> model = Model("central server", time_unit="ms")
        >>> cpu, disk = model.station("cpu"), model.station("disk")
        >>> job = model.program("job")
        >>> with job.network() as net:
        ...     with net.node("compute", to={"read": 0.5, net.leave: 0.5}):
        ...         job.use(cpu, exponential(4))
        ...     with net.node("read", to="compute"):
        ...         job.use(disk, exponential(15))
        >>> model.closed_class("jobs", job, population=8)
        >>> expected_visits(model).counts["jobs"]
        {'cpu': 2.0, 'disk': 1.0}
        """
        self._counts["network"] += 1
        builder = Network(self, self._counts["network"])
        self._add("network", {})
        with self._block("network"):
            yield builder
            builder._check()

    @block
    def fork(self, *, quorum: int | None = None, cancel: bool = False) -> Iterator[Fork]:
        """Run all arms of the block at the same time and wait for `quorum` of them.

        Parameters
        ----------
        quorum
            Number of arms to wait for; None is all of them.
        cancel
            Whether the other arms end when the quorum is reached; otherwise they continue.
        """
        builder = Fork(self, quorum)
        data: dict[str, object] = {} if quorum is None else {"quorum": int(quorum)}
        if cancel:
            if quorum is None:
                raise self._error(
                    "cancels the rest of a fork that waits for all of its arms",
                    cure="give quorum=, the number of arms to wait for",
                )
            data["rest"] = "cancel"
        self._add("fork", data)
        with self._block("fork"):
            yield builder
            builder._check()

    @block
    def attempt(
        self,
        *,
        timeout: Operand | None = None,
        tries: int = 1,
        pause: Operand | None = None,
    ) -> Iterator[Attempt]:
        """Try the steps of `Attempt.work`; if all tries fail, take those of `Attempt.failed`.

        A try fails after `timeout`, when the job loses patience in a queue, or when a full station
        rejects it. The job then leaves its station or queue and gives back what it acquired in the
        attempt. Without `Attempt.failed`, a job whose last try fails has failed: so does the
        attempt around this one, or the job is lost and counts as failed, not as completed.

        Parameters
        ----------
        timeout
            Longest time of a try, drawn or computed at its start; None: no limit. It ends a service
            too; `patience` of `use` ends a wait only.
        tries
            Maximum number of tries (>= 1).
        pause
            Time between a failed try and the next; None is none.
        """
        builder = Attempt(self)
        if not is_whole(tries) or tries < 1:
            raise self._error(f"tries its work {tries!r} times", cure="give an int of 1 or more")
        if pause is not None and tries == 1:
            raise self._error(
                "pauses between tries, but has one try", cure="give tries=2 or more, or no pause"
            )
        source, pause_source = self._source("attempt"), self._source("attempt pause")
        amounts = {"timeout": (timeout, source), "pause": (pause, pause_source)}
        made = {
            key: (as_amount(value, f"the {key} of an attempt", self.model_id), its_source)
            for key, (value, its_source) in amounts.items()
            if value is not None
        }
        data: dict[str, object] = {"tries": int(tries), "pause_stream": stream_key(pause_source)}
        data |= {key: amount_data(amount, its_source) for key, (amount, its_source) in made.items()}
        self._add("attempt", data | {"stream": stream_key(source)})
        opened = self.steps[-1]
        self.steps[-1] = Step(
            opened.data,
            opened.location,
            {key: amount for key, (amount, _source) in made.items()},
        )
        with self._block("attempt"):
            yield builder
            if builder._loses():
                opened.data["loses"] = True

    def call(self, program: "Program") -> None:
        """Walk `program` as a subroutine, until it ends or replies; the job keeps what it holds."""
        self._check_own(program, Program, "program")
        self._add("call", {"program": program.name})

    def reply(self) -> None:
        """Let the caller continue; the following steps run in parallel with it (second phase).

        A program without a caller (run by a class, or started) simply continues.
        """
        self._add("reply", {})

    def start(self, program: "Program") -> None:
        """Start a new job that runs `program`, and continue without waiting for it."""
        self._check_own(program, Program, "program")
        self._add("start", {"program": program.name})

    @property
    def open_block(self) -> str:
        """Name of the innermost block that is still open, empty if none is."""
        return self._open[-1] if self._open else ""

    def copy(self) -> "Program":
        """Return a program with the same steps, which may grow independently."""
        twin = copy.copy(self)
        twin.steps = list(self.steps)
        twin._open = list(self._open)
        twin._counts = Counter(self._counts)
        twin.unentered = dict(self.unentered)
        return twin

    def _error(self, what: str, *, cure: str) -> SimulationError:
        """Return an error of this program, with the user's line."""
        return SimulationError(f"{caller_location()}: program {self.name!r} {what}", cure=cure)

    @contextmanager
    def _block(self, kind: str) -> Iterator[None]:
        """Close the block that was just opened when its steps are written."""
        self._open.append(kind)
        yield
        self._open.pop()
        self.steps.append(Step({"op": "end"}, caller_location()))

    @contextmanager
    def _part(self, kind: str, inside: str, **data: object) -> Iterator[None]:
        """Open a case, an arm or a node directly inside its own kind of block."""
        if self.open_block != inside:
            raise self._error(
                f"opens {_a(kind)} outside its {inside}",
                cure=f"open it inside the with-block of the {inside}, one after the other",
            )
        self.steps.append(Step({"op": kind, **data}, caller_location()))
        with self._block(kind):
            yield

    def _add(
        self, op: str, data: dict[str, object], source: str | None = None, **amounts: Amount
    ) -> None:
        """Append a step; `source` names its random stream."""
        if self.open_block in _PARTS:
            parts = _PARTS[self.open_block]
            raise self._error(
                f"has a step ({op}) in {_a(self.open_block)} but in none of its {parts}",
                cure=f"move the step into one of the {parts}, or out of the {self.open_block}",
            )
        check_part_count(
            f"program {self.name!r}",
            len(self.steps),
            cure="to repeat steps while the model runs write `with program.loop(count):`, or a "
            "network; ",
        )
        streams: dict[str, object] = {} if source is None else {"stream": stream_key(source)}
        written = {key: amount_data(amount, str(source)) for key, amount in amounts.items()}
        step = {"op": op, **data, **written, **streams}
        self.steps.append(Step(step, caller_location(), amounts))

    def _source(self, kind: str) -> str:
        """Return the name of the next random source of its kind in this program."""
        self._counts[kind] += 1
        return f"program {self.name}: {kind} #{self._counts[kind]}"

    def _check_own(self, part: object, kind: type, word: str) -> None:
        if not isinstance(part, kind):
            raise self._error(
                f"names {repr(part).partition(chr(10))[0]}, but needs {_a(word)}",
                cure=f"pass the result of model.{word}()",
            )
        if getattr(part, "model_id", None) != self.model_id:
            name = getattr(part, "name", "")
            raise self._error(
                f"names the {word} {name!r} of another model",
                cure=f"make the {word} with model.{word}() of the same model",
            )


def _a(word: str) -> str:
    return f"an {word}" if word[0] in "aeiou" else f"a {word}"
