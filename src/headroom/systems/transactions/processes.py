"""Processes at processors: running, waiting in the ready queue, asleep.

A process keeps its processor from one sleep to the next: what it computes meanwhile adds up to one
*burst*. It sleeps while an I/O node or the owner of another warehouse works for it; when it wakes
it queues for its processor again, and the switch to it costs time (paper P0, figures 6 and 7).
"""

from collections.abc import Callable

from headroom.simulation import Attribute, Model, Program, draw, floor, uniform
from headroom.systems.transactions.elements import Elements
from headroom.systems.transactions.input_output import InputOutput, node_of_processor
from headroom.systems.transactions.machine import Machine
from headroom.systems.transactions.transport import Transport
from headroom.systems.transactions.workload import Work


class Processes:
    """What programs of transactions are made of."""

    def __init__(self, model: Model, machine: Machine, elements: Elements) -> None:
        self.machine = machine
        self._model = model
        self._elements = elements
        self._home: Attribute = model.attribute("home", initial=-1)
        self._place: Attribute = model.attribute("place")
        self._burst: Attribute = model.attribute("burst")
        self._other: Attribute = model.attribute("owner")
        self._transport = Transport(model, machine, elements)
        self._io = (
            InputOutput(model, machine, elements, self._transport, self._place)
            if machine.has_io
            else None
        )
        self._run = self._running()
        self._begin = self._beginning()
        self._answer = self._answering() if machine.communication_nodes else None
        self._access = self._accessing(self._io)

    def begin(self, program: Program) -> None:
        """Let a transaction begin: its request comes in, and its process is ready."""
        program.call(self._begin)

    def do(self, program: Program, work: Work) -> None:
        """Do some work: its accesses, then the instructions of its calls and scans."""
        if self._access is not None:
            for _ in range(work.accesses):
                program.call(self._access)
        machine = self.machine
        thousand = work.calls * machine.call_kiloinstructions
        self._compute(program, thousand + work.scans * machine.scan_kiloinstructions)

    def commit(self, program: Program) -> None:
        """Make the changes of a transaction durable: its log record is written."""
        self._compute(program, self.machine.commit_kiloinstructions)
        if self._io is not None:
            self._sleep(program, self._io.write(self.machine.log_bytes))

    def finish(self, program: Program) -> None:
        """End a transaction that changed nothing: it commits, and there is no record to write."""
        self._compute(program, self.machine.commit_kiloinstructions)

    def file_result(self, program: Program) -> None:
        """Write the result of a deferred transaction to its file."""
        if self._io is not None:
            self._sleep(program, self._io.write(self.machine.result_bytes))

    def end(self, program: Program) -> None:
        """Let a transaction end: what is left of its burst runs, and the answer goes out."""
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
        program.set(self._place, self._home)
        self._wake(program, self.machine.message_kiloinstructions)

    @property
    def has_others(self) -> bool:
        """Whether there are other warehouses."""
        return self.machine.warehouses > 1

    def _compute(self, program: Program, kiloinstructions: float) -> None:
        if kiloinstructions > 0:
            program.set(self._burst, self._burst + self.machine.processor_ms(kiloinstructions))

    def _sleep(self, program: Program, what: Program) -> None:
        """Run up to here, ask for `what`, sleep, and wake when it is done."""
        self._compute(program, self.machine.io_kiloinstructions)
        program.call(self._run)
        program.call(what)
        self._wake(program, 0.0)

    def _wake(self, program: Program, kiloinstructions: float) -> None:
        thousand = kiloinstructions + self.machine.switch_kiloinstructions
        program.set(self._burst, self.machine.processor_ms(thousand))

    def _running(self) -> Program:
        """Return the program of a burst: queue for the processor, and keep it."""
        run = self._model.program("run")
        run.use_one_of(self._elements.processors, self._burst, policy="index", by=self._place)
        return run

    def _beginning(self) -> Program:
        """Return the program that begins a transaction at its terminal's warehouse.

        Terminals go to the warehouses in turn, when they begin for the first time.
        """
        begin = self._model.program("begin")
        with (
            begin.branch() as first,
            first.when(self._home < 0),
            begin.branch("round_robin") as turn,
        ):
            for warehouse in range(self.machine.warehouses):
                with turn.case():
                    begin.set(self._home, warehouse)
        begin.set(self._place, self._home)
        begin.set(self._burst, self.machine.processor_ms(self.machine.switch_kiloinstructions))
        if self.machine.communication_nodes:
            self._terminal_message(begin, is_answer=False)
        return begin

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
        cluster = floor(self._home / (machine.processors * machine.processing_nodes))
        count = machine.communication_nodes
        first = machine.nodes_of_a_cluster - count
        node = cluster * machine.nodes_of_a_cluster + first + self._home % count
        home = node_of_processor(machine, self._home)
        stations, by = self._elements.communication_processors, cluster * count + self._home % count
        if not is_answer:
            program.use_one_of(stations, machine.io_processor_ms, policy="index", by=by)
        program.set(at.source, home if is_answer else node)
        program.set(at.target, node if is_answer else home)
        program.call(self._transport.send(machine.request_bytes))
        if is_answer:
            program.use_one_of(stations, machine.io_processor_ms, policy="index", by=by)

    def _accessing(self, io: InputOutput | None) -> Program | None:
        """Return the program of an access: with some probability its page must be fetched."""
        if io is None or self.machine.io_probability <= 0:
            return None
        access = self._model.program("access")
        with access.branch() as buffer:
            with buffer.case(self.machine.io_probability):
                self._sleep(access, io.read())
            with buffer.otherwise():
                pass
        return access

    def _delegation(self, name: str, work: Callable[[Program], None]) -> Program:
        """Return the program of a process that the owner of another warehouse runs."""
        machine = self.machine
        others = machine.warehouses - 1
        delegated = self._model.program(name)
        step = floor(draw(uniform(0, others))) if others > 1 else 0.0
        delegated.set(self._other, (self._home + 1 + step) % machine.warehouses)
        self._message(delegated, self._home, self._other)
        delegated.set(self._place, self._other)
        self._wake(delegated, machine.message_kiloinstructions)
        work(delegated)
        self._compute(delegated, machine.message_kiloinstructions)
        delegated.call(self._run)
        self._message(delegated, self._other, self._home)
        return delegated

    def _message(self, program: Program, source: Attribute, target: Attribute) -> None:
        """Send a message between the nodes of two processors; within a node it costs no way."""
        at, machine = self._transport.addresses, self.machine
        here, there = (node_of_processor(machine, one) for one in (source, target))
        with program.branch() as way, way.when(here != there):
            program.set(at.source, here)
            program.set(at.target, there)
            program.call(self._transport.send(machine.request_bytes))
