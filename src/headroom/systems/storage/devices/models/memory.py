"""Devices without moving parts in a model: memory behind ports, and flash behind channels."""

from headroom.simulation import Model, Program
from headroom.systems.storage.devices.models.load import Request
from headroom.systems.storage.devices.models.numbers import DramNumbers, FlashNumbers


def build_dram(model: Model, numbers: DramNumbers, request: Request) -> Program:
    """Add a device of memory and return the program that carries out a request at it.

    A request passes a port, with the time of its command and of its data, and then occupies a
    channel of the memory: a fixed time and that of its bytes. The address does not matter.
    """
    ports = model.station("ports", servers=numbers.ports)
    memory = model.station("memory", servers=numbers.memory_channels)
    carry = model.program("carry out")
    carry.use(ports, 1e-3 * numbers.link_overhead_us + request.length / (numbers.link_mb_s * 1e3))
    carry.use(memory, 1e-3 * numbers.access_us + request.length / (numbers.memory_mb_s * 1e3))
    return carry


def build_flash(model: Model, numbers: FlashNumbers, request: Request) -> Program:
    """Add a flash device and return the program that carries out a request at it.

    A write is acknowledged when it is in the buffer of the device, which has as many places as
    requests of a page fit in; a place becomes free when its data are programmed. A read waits for
    the dies that hold its pages, and behind their current work: a program, or a collection.
    """
    return _Flash(model, numbers, request).carry


class _Flash:
    def __init__(self, model: Model, numbers: FlashNumbers, request: Request) -> None:
        self._model, self._numbers, self._request = model, numbers, request
        self._map = model.mechanism("flash", kind="storage.flash", parameters=numbers.mechanism())
        self._controllers = model.station("controllers", servers=numbers.controllers)
        self._link = model.station("link")
        self._channels = [
            model.station(f"channel {number + 1}", group="channels")
            for number in range(numbers.channels)
        ]
        self._dies = [
            model.station(f"die {number + 1}", group="dies") for number in range(numbers.dies)
        ]
        places = max(1, int(numbers.write_buffer_mib * 1024 / numbers.page_kib))
        self._buffer = model.pool("write buffer", tokens=places)
        self._die = model.attribute("die")
        self._move = {is_write: self._moving(is_write=is_write) for is_write in (False, True)}
        self.carry = self._carrying()

    def _carrying(self) -> Program:
        carry, numbers, request = self._model.program("carry out"), self._numbers, self._request
        carry.use(self._controllers, 1e-3 * numbers.command_us)
        carry.use(self._link, request.length / (numbers.link_mb_s * 1e3))
        with carry.branch() as kind:
            with kind.when(request.is_write == 1):
                self._buffered(carry)
            with kind.otherwise():
                carry.call(self._move[False])
        return carry

    def _buffered(self, carry: Program) -> None:
        """Wait for a place in the buffer, and leave the program of the pages to the device."""
        write = self._model.program("program pages")
        # A place is taken by the job that programs the pages; the writer waits until one is free.
        carry.acquire(self._buffer)
        carry.release(self._buffer)
        with write.holding(self._buffer):
            write.call(self._move[True])
        carry.start(write)

    def _moving(self, *, is_write: bool) -> Program:
        """Return the program that moves the pages of a request between the dies and the buffer."""
        word = "write" if is_write else "read"
        move, request, flash = self._model.program(f"{word} pages"), self._request, self._map
        with move.branch() as spread:
            with spread.when(flash.call("dies_touched", request.offset, request.length) == 1):
                move.set(self._die, flash.call("die", request.offset))
                with move.branch("index", by=self._die) as chosen:
                    for die in range(len(self._dies)):
                        with chosen.case():
                            self._at_die(move, die, is_write=is_write)
            with spread.otherwise():
                self._on_all(move, is_write=is_write)
        return move

    def _on_all(self, move: Program, *, is_write: bool) -> None:
        request, flash = self._request, self._map
        with move.fork() as dies:
            for die in range(len(self._dies)):
                with dies.arm(), move.branch() as touched:
                    pages = flash.call("pages", die, request.offset, request.length)
                    with touched.when(pages > 0):
                        self._at_die(move, die, is_write=is_write)

    def _at_die(self, move: Program, die: int, *, is_write: bool) -> None:
        """Use a die and its channel, in the order in which data move."""
        request, flash, numbers = self._request, self._map, self._numbers
        channel = self._channels[die % numbers.channels]
        pages = flash.call("pages", die, request.offset, request.length)
        transfer_ms = pages * (numbers.page_kib * 1.024 / numbers.channel_mb_s)
        word = "write" if is_write else "read"
        time = flash.call(word, die, request.offset, request.length)
        if is_write:
            move.use(channel, transfer_ms)
        move.use(self._dies[die], time)
        if not is_write:
            move.use(channel, transfer_ms)
