"""A study that is built in Python instead of a `study.toml`.

Invariant: keys and checks are those of the study file. The only
addition is a model that is a function of the calling program.
"""

import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
import numpy as np

from headroom.errors import StudyError
from headroom.experiment.protocol import registry
from headroom.experiment.protocol.suggestions import suggestion
from headroom.experiment.protocol.system import TakesFunctions, Value
from headroom.experiment.study.asks import Ask, Direction
from headroom.experiment.study.file.short_keys import model_setup
from headroom.experiment.study.file.study_file import LoadedStudy, study_of
from headroom.experiment.study.file.toml_text import toml_text
from headroom.experiment.study.study import Claim
from headroom.simulation import Model

ModelLike: TypeAlias = Model | Callable[..., Model] | str
"""A model, a function that returns one, or a name as for `headroom solve`: ``"mm1"``,
``"shop.py:build"``, ``"shop.jsimg"``."""


class Experiment:
    """One experiment of a study: a system, what is fixed, what varies, how often it runs.

    Parameters
    ----------
    name
        Letters, digits, - and _; unique in the study.
    model
        What is simulated; instead of `system`. Relative files start at the study's folder.
    system
        Table `[experiment.system]` of the study file, for every other system.
    fixed, factors
        Values of parameters, and levels of those that vary.
    replications
        A number, or a table: ``{"metric": "response_s_p95", "half_width": 0.05}``.
    completions, time_s
        End of each run: completions, or simulated time (s); one of them.
    keys
        Any other key of `[[experiment]]`, such as ``responses``, ``compare`` or ``limit``; tables
        are dictionaries, arrays of tables lists of these.

    Examples
    --------
    >>> import headroom as hr
    >>> load = hr.Experiment("load", "mm1", factors={"utilization": [0.5, 0.9]}, replications=5)
    >>> load.content()["factors"]
    {'utilization': [0.5, 0.9]}
    """

    def __init__(
        self,
        name: str,
        model: ModelLike | None = None,
        *,
        system: Mapping[str, Any] | None = None,
        fixed: Mapping[str, Value] | None = None,
        factors: Mapping[str, Sequence[Value] | Mapping[str, Any]] | None = None,
        replications: int | Mapping[str, Any] | None = None,
        completions: int | None = None,
        time_s: float | None = None,
        **keys: Any,  # noqa: ANN401 - any key of the study file
    ) -> None:
        if (model is None) == (system is None):
            raise StudyError(
                f"experiment {name!r} needs either a model or a system",
                cure='give one of the two: model=shop, or system={"name": "command", ...}',
            )
        self._model = model
        self._content = plain(
            {
                "name": name,
                **({} if "title" not in keys else {"title": keys.pop("title")}),
                "system": {} if system is None else system,
                "fixed": fixed or {},
                "factors": factors or {},
                "completions": completions,
                "time_s": time_s,
                "replications": replications or {},
                **keys,
            }
        )
        self.name = name

    def content(self) -> dict[str, Any]:
        """Return the table `[[experiment]]`, with the function of a model as data."""
        return self._with_system(model_table(self._model) if self._model is not None else {})

    def file_content(self, folder: Path) -> dict[str, Any]:
        """Return the table `[[experiment]]` as a file says it; functions are named by their file.

        Raises
        ------
        StudyError
            The model is in no file.
        """
        table = {} if self._model is None else _file_table(self.name, self._model, folder)
        return self._with_system(table)

    def _with_system(self, table: Mapping[str, Any]) -> dict[str, Any]:
        content = {**self._content, "system": {**self._content["system"], **table}}
        return {key: value for key, value in content.items() if value not in ({}, None)}


class Study:
    """A study: experiments and claims, with the folder of its results.

    Parameters
    ----------
    name
        Letters, digits, - and _.
    experiments
        One or more.
    title, question
        For the report; without a title the question of the first ask, or the name.
    asks
        What is asked, the headline first: asks, such as `EnoughAsk`, or tables as `[[ask]]`.
    titles
        Words for metrics, parts and levels in sentences, as the table `[titles]`.
    directions
        Parameter to ``"load"``, ``"resource"``, ``"setting"`` or ``"label"``, where the model does
        not show it.
    claims
        Claims, such as `ValueClaim`, or tables as `[[claim]]`.
    seed
        All seeds derive from it.
    folder
        Folder that gets `results/`; by default the name, in the current folder.

    Examples
    --------
    >>> import headroom as hr
    >>> load = hr.Experiment("load", "mm1", factors={"utilization": [0.5, 0.9]}, replications=5)
    >>> print(hr.Study("queue", [load], seed=7).to_toml())
    schema = 1
    name = "queue"
    title = "queue"
    seed = 7
    <BLANKLINE>
    [[experiment]]
    name = "load"
    system = { name = "model", model = "mm1" }
    factors = { utilization = [0.5, 0.9] }
    replications = 5
    <BLANKLINE>
    """

    def __init__(
        self,
        name: str,
        experiments: Sequence[Experiment],
        *,
        title: str = "",
        question: str = "",
        asks: Sequence[Ask | Mapping[str, Any]] = (),
        titles: Mapping[str, str | Mapping[str, str]] | None = None,
        directions: Mapping[str, Direction] | None = None,
        claims: Sequence[Claim | Mapping[str, Any]] = (),
        seed: int = 1,
        folder: str | Path | None = None,
        **others: object,
    ) -> None:
        for key in others:
            known = list(inspect.signature(Study).parameters)[:-1]
            raise StudyError(f"hr.Study takes no {key!r}", cure=suggestion(key, known))
        self.name = name
        self.experiments = tuple(experiments)
        self.folder = Path(name if folder is None else folder)
        self._asks = [plain(ask) for ask in asks]
        asked = question or any(ask.get("question") for ask in self._asks)
        head = {"schema": 1, "name": name, "title": title or ("" if asked else name), "seed": seed}
        self._head = {key: value for key, value in head.items() if value != ""}
        self._head |= {"question": question} if question else {}
        self._head |= {"titles": plain(titles)} if titles else {}
        self._head |= {"directions": dict(directions)} if directions else {}
        self._claims = [plain(claim) for claim in claims]
        self.loaded()

    def loaded(self, settings: Sequence[str] = (), *, command: str = "") -> LoadedStudy:
        """Return the study with its types checked, as a study file is.

        Parameters
        ----------
        settings
            Keys to set, such as ``"experiment.replications.count=3"``.
        command
            What repeats the study, for the report.
        """
        content = self._content([one.content() for one in self.experiments])
        say = command or f"hr.run(study)  # study {self.name!r}, built in Python"
        return study_of(content, folder=self.folder, settings=settings, command=say)

    def to_toml(self) -> str:
        """Return the study as the text of a `study.toml` for its folder.

        Raises
        ------
        StudyError
            A model is a function or object that is in no file.
        """
        return toml_text(self._content([one.file_content(self.folder) for one in self.experiments]))

    def _content(self, experiments: list[dict[str, Any]]) -> dict[str, Any]:
        asks = {"ask": self._asks} if self._asks else {}
        claims = {"claim": self._claims} if self._claims else {}
        return {**self._head, **asks, "experiment": experiments, **claims}


def model_table(model: ModelLike, *, here: Path | None = None) -> dict[str, Any]:
    """Return the table `[experiment.system]` of a model.

    Parameters
    ----------
    model
        The model.
    here
        Folder that relative files start at; None leaves them unchanged.
    """
    if isinstance(model, str):
        table = {"name": "model", **model_setup(model)}
        if here is not None and "file" in table:
            table["file"] = str((here / table["file"]).resolve())
        return table
    kind = registry.find_system("model")
    if not isinstance(kind, TakesFunctions):
        raise TypeError("the system model takes no functions")
    return dict(kind.of_function(model))


def _file_table(name: str, model: ModelLike, folder: Path) -> dict[str, Any]:
    if isinstance(model, str):
        return model_table(model)
    file = None if isinstance(model, Model) else inspect.getsourcefile(model)
    if file is None or not Path(file).is_file() or "<" in getattr(model, "__qualname__", "<"):
        raise StudyError(
            f"the model of experiment {name!r} is in no file, so a study file cannot name it",
            cure="put the function at the top level of a file, such as model.py",
        )
    place = Path(os.path.relpath(file, folder)).as_posix()
    return {"name": "model", "file": place, "function": getattr(model, "__name__", "")}


def plain(value: Any) -> Any:  # noqa: ANN401 - any value that a study file can say
    """Return a value as TOML has it: arrays and ranges are lists, structs are tables.

    Examples
    --------
    >>> plain({"users": range(1, 4), "scale": np.float64(2.0), "file": Path("a/b")})
    {'users': [1, 2, 3], 'scale': 2.0, 'file': 'a/b'}
    """
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if isinstance(value, float):
        return float(value)  # an estimate is one
    if isinstance(value, msgspec.Struct):
        return _of_struct(value)
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [plain(inner) for inner in value]
    return os.fspath(value) if isinstance(value, os.PathLike) else value


def _of_struct(value: msgspec.Struct) -> dict[str, Any]:
    """Return the fields of a struct that differ from their defaults, with its tag."""
    config = value.__struct_config__
    table = {} if config.tag is None else {str(config.tag_field): config.tag}
    for field in msgspec.structs.fields(value):
        inner = getattr(value, field.name)
        default = field.default
        if default is msgspec.NODEFAULT and field.default_factory is not msgspec.NODEFAULT:
            default = field.default_factory()
        if inner != default:
            table[field.encode_name] = plain(inner)
    return table
