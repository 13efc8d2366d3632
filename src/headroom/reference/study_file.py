"""The page of the study file, from the types that check it."""

from typing import get_args

import msgspec

from headroom.experiment.study import asks, study
from headroom.reference.docstrings import opening
from headroom.reference.fields import common_keys, fields_list

_TABLES: list[tuple[type[msgspec.Struct], str]] = [
    (study.Study, "The file"),
    (study.Experiment, "`[[experiment]]`"),
    (study.Sourced, "A fixed value with its source"),
    (study.Range, "A range of levels"),
    (study.Replications, "`[experiment.replications]`"),
    (study.WarmUp, "`[experiment.warm_up]`"),
    (study.WhatIf, "`[experiment.what_if]`"),
    (study.Fit, "`[experiment.fit]`"),
    (study.Limit, "`[[experiment.limit]]`"),
    (study.Refine, "`refine` of a limit"),
    (study.Compare, "`[experiment.compare]`"),
    (study.Derived, "`[[experiment.derived]]`"),
    (study.Quick, "`[experiment.quick]`"),
]

_CLAIMS: list[tuple[type[msgspec.Struct], str]] = [
    (study.ValueClaim, '`[[claim]]` with `kind = "value"`'),
    (study.RatioClaim, '`[[claim]]` with `kind = "ratio"`'),
    (study.AgreementClaim, '`[[claim]]` with `kind = "agreement"`'),
    (study.ErrorsClaim, '`[[claim]]` with `kind = "errors"`'),
    (study.OrderingClaim, '`[[claim]]` with `kind = "ordering"`'),
    (study.MonotoneClaim, '`[[claim]]` with `kind = "monotone"`'),
    (study.FlatClaim, '`[[claim]]` with `kind = "flat"`'),
    (study.KneeClaim, '`[[claim]]` with `kind = "knee"`'),
    (study.CrossoverClaim, '`[[claim]]` with `kind = "crossover"`'),
]


def study_file() -> str:
    """Return the page: one table per table of the file."""
    parts = [
        "# Study file\n",
        "A study is a folder with a `study.toml`. Unknown keys are refused with file, line and "
        "the likely correction; keys that are not required may be left out. `headroom schema` "
        "prints the same as a JSON schema, for editors.\n",
    ]
    for struct, title in _TABLES:
        parts += [f"## {title}\n", f"{opening(struct)}\n", fields_list(struct)]
    parts += _kinds("ask", "question", [(one, _ask_title(one)) for one in get_args(asks.Ask)])
    parts += _kinds("claim", "claim", _CLAIMS)
    return "\n".join(parts)


def _ask_title(struct: type[msgspec.Struct]) -> str:
    return f'`[[ask]]` with `kind = "{struct.__struct_config__.tag}"`'


def _kinds(table: str, noun: str, titled: list[tuple[type[msgspec.Struct], str]]) -> list[str]:
    """Return the sections of a table with kinds: their common keys, then those of each."""
    kinds = [struct for struct, _ in titled]
    common = common_keys(kinds)
    own = {f"`{item.encode_name}`" for item in msgspec.structs.fields(kinds[0])}
    parts = [
        f"## `[[{table}]]`\n",
        f"Every {noun} has a `kind` and these keys:\n",
        fields_list(kinds[0], without=own - set(common)),
    ]
    for struct, title in titled:
        keys = fields_list(struct, without=common)
        parts += [f"## {title}\n", f"{opening(struct)}\n", *([keys] if keys.strip() else [])]
    return parts
