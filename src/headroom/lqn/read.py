"""Read a layered queueing network into a `headroom.simulation.Model`."""

from pathlib import Path

from headroom.input_file import read_file
from headroom.jmt.place import Place
from headroom.jmt.xml_tree import LARGEST_BYTES, parse
from headroom.lqn import text_in, xml_in
from headroom.lqn.build import model_of
from headroom.lqn.document import check
from headroom.lqn.reached import drop_idle
from headroom.simulation import Model
from headroom.simulation.checks.check import check_model


def read_lqn(path: str | Path) -> Model:
    """Return the model of a file of lqns or lqsim, in XML (.lqnx) or text (.lqn).

    Stations have the names of processors, pools those of tasks, programs those of entries, and
    closed classes those of reference tasks. An entry of a task with several has a pool too.

    Parameters
    ----------
    path
        The file. Its times, which have no unit, are taken as seconds; the model counts in a
        smaller unit where they are short.

    Raises
    ------
    SimulationError
        The file is no such file, or says something that has no counterpart; the message names
        the line.

    Notes
    -----
    Franks, Maly, Woodside, Petriu, Hubbard & Mroz, Layered Queueing Network Solver and Simulator
    User Manual. See docs/guides/read-a-layered-model.md for what is read and refused.

    Examples
    --------
    >>> import tempfile
    >>> text = '''
    ... P 2  p desk i  p cpu f  -1
    ... T 2  t users r browse -1 desk z 2 m 3  t web n page -1 cpu m 2  -1
    ... E 2  s browse 0.5 -1  y browse page 1 -1  s page 0.1 -1  -1
    ... '''
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "shop.lqn"
    ...     _ = path.write_text(text)
    ...     model = read_lqn(path)
    >>> list(model.stations), list(model.pools), list(model.classes)
    (['desk', 'cpu'], ['web'], ['users'])
    """
    content, shown = read_file(Path(path), most_bytes=LARGEST_BYTES), str(path)
    if content.lstrip().startswith(b"<"):
        document = xml_in.document_of(parse(content, shown))
    else:
        try:
            text = content.decode()
        except UnicodeDecodeError as error:
            line = content[: error.start].count(b"\n") + 1
            raise Place(shown, line).error(
                "the file is neither XML nor text", cure="save it as UTF-8"
            ) from error
        document = text_in.document_of(text, shown)
    check(document)
    drop_idle(document)
    model = model_of(document)
    check_model(model)
    return model
