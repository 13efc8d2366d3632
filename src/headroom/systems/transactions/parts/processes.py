"""Processes at processors: running, waiting in the ready queue, asleep.

A process keeps its processor from one sleep to the next: its computing in between adds up to one
*burst*. It sleeps while an I/O node or the owner of another warehouse works for it. When it wakes
it queues for its processor again, and the context switch costs time (Kim et al., figures 6 and 7).
"""

from collections.abc import Callable

from headroom.simulation import (
    Attribute,
    Expression,
    Model,
    Program,
    draw,
    exponential,
    floor,
    uniform,
)
from headroom.systems.transactions.machine import Machine
from headroom.systems.transactions.parts.elements import Elements
from headroom.systems.transactions.parts.input_output import InputOutput, node_of_processor
from headroom.systems.transactions.parts.local_disks import LocalDisks
from headroom.systems.transactions.parts.transport import Transport
from headroom.systems.transactions.workload.locks import Locks
from headroom.systems.transactions.workload.tpcc import Access, Work


class Processes:
    """The elements of transaction programs."""

    def __init__(self, model: Model, machine: Machine, elements: Elements) -> None:
        self.machine = machine
        self._model = model
        self._elements = elements
        self._home: Attribute = model.attribute("home", initial=-1)
        """The warehouse of a terminal, or of a transaction that came from outside."""
        self._place: Attribute = model.attribute("place")
        """The processor at which a process runs."""
        self._burst: Attribute = model.attribute("burst")
        self._other: Attribute = model.attribute("owner")
        self._transport = Transport(model, machine, elements)
        self._io = self._input_output() if machine.has_io else None
        self._locks = Locks(model, machine, self._home) if machine.row_locks else None
        self._ended: set[str] = set()
        """Transactions that have run all that they compute before they let their row go."""
        self._run = self._running()
        self._begin = self._beginning()
        self._answer = self._answering() if machine.communication_nodes else None

    def begin(self, program: Program) -> None:
        """Let a transaction begin: its request comes in, and its process is ready."""
        program.call(self._begin)

    def locked(self, program: Program, work: Callable[[Program], None]) -> None:
        """Do `work`, the rest of a transaction, while it holds the row of its warehouse.

        A process that finds the row free keeps its processor: its next work comes before all
        others.
        """
        if self._locks is None:
            work(program)
            return

        def until_the_end(inside: Program) -> None:
            work(inside)
            inside.call(self._run)

        def woken(inside: Program) -> None:
            self._wake(inside, 0.0)

        program.call(self._run)
        program.set(self._burst, 0.0)
        self._locks.hold(program, until_the_end, woken)
        self._ended.add(program.name)

    def do(self, program: Program, work: Work) -> None:
        """Do some work: its accesses, then the instructions of its calls and scans."""
        for access in work.accesses:
            if (fetch := self._accessing(access)) is not None:
                program.call(fetch)
        machine = self.machine
        thousand = work.calls * machine.call_kiloinstructions
        self._compute(program, thousand + work.scans * machine.scan_kiloinstructions)
        self._ask_client(program, work.calls * machine.statement_round_trips)

    def commit(self, program: Program) -> None:
        """Make the changes of a transaction durable: its log record is written."""
        self._compute(program, self.machine.commit_kiloinstructions)
        if self._io is not None:
            self._sleep(program, self._io.write(self.machine.log_bytes))
        self._replicate(program)

    def finish(self, program: Program) -> None:
        """End a transaction that changed nothing: it commits, and there is no record to write."""
        self._compute(program, self.machine.commit_kiloinstructions)

    def file_result(self, program: Program) -> None:
        """Write the result of a deferred transaction to its file."""
        if self._io is not None:
            self._sleep(program, self._io.write(self.machine.result_bytes))

    def end(self, program: Program) -> None:
        """Let a transaction end: the rest of its burst runs, and the answer goes out."""
        if program.name not in self._ended:
            program.call(self._run)
        if self._answer is not None:
            program.call(self._answer)

    def at_owner(self, program: Program, name: str, work: Callable[[Program], None]) -> None:
        """Let the owner of another warehouse do `work`, and sleep until its answer is there."""
        known = self._model.programs
        delegated = known.get(name) or self._delegation(name, work)
        self._compute(program, self.machine.message_kiloinstructions)
        program.call(self._run)
        program.call(delegated)
        program.set(self._place, self._processor_of(self._home))
        self._wake(program, self.machine.message_kiloinstructions)

    @property
    def has_others(self) -> bool:
        """Whether there are other warehouses."""
        return self.machine.warehouse_count > 1

    def _input_output(self) -> InputOutput | LocalDisks:
        if self.machine.is_local:
            return LocalDisks(self._model, self.machine, self._elements, self._place)
        return InputOutput(self._model, self.machine, self._elements, self._transport, self._place)

    def _processor_of(self, warehouse: Attribute) -> Expression:
        """Return the processor that runs the transactions of a warehouse."""
        machine = self.machine
        if machine.warehouse_count <= machine.all_processors:
            return warehouse
        return warehouse % machine.all_processors

    def _compute(self, program: Program, kiloinstructions: float) -> None:
        if kiloinstructions > 0:
            program.set(self._burst, self._burst + self.machine.processor_ms(kiloinstructions))

    def _sleep(self, program: Program, what: Program) -> None:
        """Run up to here, request `what`, sleep, and wake when it is done."""
        self._compute(program, self.machine.io_kiloinstructions)
        program.call(self._run)
        if self._locks is not None:
            program.prioritize(0)
        program.call(what)
        self._wake(program, 0.0)

    def _wake(self, program: Program, kiloinstructions: float) -> None:
        thousand = kiloinstructions + self.machine.switch_kiloinstructions
        program.set(self._burst, self.machine.processor_ms(thousand))

    def _ask_client(self, program: Program, round_trips: float) -> None:
        """Let the client send the next calls, each when it has the answer of the one before."""
        machine = self.machine
        if not round_trips:
            return
        messages = 2 * round_trips * machine.message_kiloinstructions
        self._compute(program, messages + round_trips * machine.switch_kiloinstructions)
        program.call(self._run)
        program.delay(round_trips * machine.round_trip_ms)
        program.set(self._burst, 0.0)

    def _replicate(self, program: Program) -> None:
        """Wait until all standby servers have the record of a commit."""
        machine = self.machine
        if not machine.standbys:
            return
        self._compute(program, machine.message_kiloinstructions * machine.standbys)
        program.call(self._run)
        with program.fork() as answers:
            for _ in range(machine.standbys):
                with answers.arm():
                    program.delay(exponential(machine.standby_ms))
        self._wake(program, 0.0)

    def _running(self) -> Program:
        """Return the program of a burst: queue for the processor, and keep it."""
        run, shared = self._model.program("run"), self.machine.has_shared_queue
        by = floor(self._place / self.machine.processors) if shared else self._place
        run.use_one_of(self._elements.processors, self._burst, policy="index", by=by)
        return run

    def _beginning(self) -> Program:
        """Return the program that begins a transaction at its warehouse.

        Terminals go to the warehouses in turn, when they begin for the first time; what comes from
        outside is for any warehouse.
        """
        begin = self._model.program("begin")
        if self.machine.arrivals_per_s > 0:
            begin.set(self._home, floor(draw(uniform(0, self.machine.warehouse_count))))
        else:
            self._first_time(begin)
        begin.set(self._place, self._processor_of(self._home))
        begin.set(self._burst, self.machine.processor_ms(self.machine.switch_kiloinstructions))
        if self.machine.communication_nodes:
            self._terminal_message(begin, is_answer=False)
        return begin

    def _first_time(self, begin: Program) -> None:
        """Let a terminal come to its warehouse, some time after the start."""
        with begin.branch() as first, first.when(self._home < 0):
            if self.machine.start_within_ms > 0:
                begin.delay(uniform(0, self.machine.start_within_ms))
            with begin.branch("round_robin") as turn:
                for warehouse in range(self.machine.warehouse_count):
                    with turn.case():
                        begin.set(self._home, warehouse)

    def _answering(self) -> Program:
        """Return the program that sends the answer to the terminal."""
        answer = self._model.program("answer terminal")
        self._terminal_message(answer, is_answer=True)
        return answer

    def _terminal_message(self, program: Program, *, is_answer: bool) -> None:
        """Move a message between a communication node and the node of the warehouse.

        A warehouse's terminals are at one of the communication nodes of its cluster.
        """
        machine, at = self.machine, self._transport.addresses
        home = self._processor_of(self._home)
        cluster = floor(home / (machine.processors * machine.processing_nodes))
        count = machine.communication_nodes
        first = machine.nodes_of_a_cluster - count
        node = cluster * machine.nodes_of_a_cluster + first + self._home % count
        place = node_of_processor(machine, home)
        stations, by = self._elements.communication_processors, cluster * count + self._home % count
        if not is_answer:
            program.use_one_of(stations, machine.io_processor_ms, policy="index", by=by)
        program.set(at.source, place if is_answer else node)
        program.set(at.target, node if is_answer else place)
        program.call(self._transport.send(machine.request_bytes))
        if is_answer:
            program.use_one_of(stations, machine.io_processor_ms, policy="index", by=by)

    def _accessing(self, access: Access) -> Program | None:
        """Return the program of an access: with some probability its page must be fetched.

        Accesses that miss the buffer as often, and write back or do not, are one program.
        """
        share = self.machine.miss_share(access.table)
        if self._io is None or share <= 0:
            return None
        name = f"{'change' if access.changes else 'read'} with {share:.6g} misses"
        if name in self._model.programs:
            return self._model.programs[name]
        program = self._model.program(name)
        with program.branch() as buffer:
            with buffer.case(share):
                self._sleep(program, self._io.read())
                if access.changes and self.machine.write_back_share > 0:
                    program.call(self._leaving(self._io))
            with buffer.otherwise():
                pass
        return program

    def _leaving(self, io: InputOutput | LocalDisks) -> Program:
        """Return the program that lets a changed page leave the buffer for the new one."""
        name = "leave buffer"
        if name in self._model.programs:
            return self._model.programs[name]
        leaving = self._model.program(name)
        with leaving.branch() as changed:
            with changed.case(self.machine.write_back_share):
                self._compute(leaving, self.machine.io_kiloinstructions)
                leaving.start(io.write_back())
            with changed.otherwise():
                pass
        return leaving

    def _delegation(self, name: str, work: Callable[[Program], None]) -> Program:
        """Return the program of a process that the owner of another warehouse runs."""
        machine = self.machine
        others = machine.warehouse_count - 1
        delegated = self._model.program(name)
        step = floor(draw(uniform(0, others))) if others > 1 else 0.0
        delegated.set(self._other, (self._home + 1 + step) % machine.warehouse_count)
        self._message(delegated, self._home, self._other)
        delegated.set(self._place, self._processor_of(self._other))
        self._wake(delegated, machine.message_kiloinstructions)
        work(delegated)
        self._compute(delegated, machine.message_kiloinstructions)
        delegated.call(self._run)
        self._message(delegated, self._other, self._home)
        return delegated

    def _message(self, program: Program, source: Attribute, target: Attribute) -> None:
        """Send a message between the nodes of two processors; within a node it costs no way."""
        at, machine = self._transport.addresses, self.machine
        processors = (self._processor_of(end) for end in (source, target))
        here, there = (node_of_processor(machine, processor) for processor in processors)
        with program.branch() as way, way.when(here != there):
            program.set(at.source, here)
            program.set(at.target, there)
            program.call(self._transport.send(machine.request_bytes))
