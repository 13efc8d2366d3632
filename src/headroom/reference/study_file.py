"""The page of the study file, from the types that check it."""

import msgspec

from headroom.experiment.study import study
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
    kinds = [struct for struct, _ in _CLAIMS]
    common = common_keys(kinds)
    own = {f"`{item.encode_name}`" for item in msgspec.structs.fields(kinds[0])}
    parts += [
        "## `[[claim]]`\n",
        "Every claim has a `kind` and these keys:\n",
        fields_list(kinds[0], without=own - set(common)),
    ]
    for struct, title in _CLAIMS:
        parts += [f"## {title}\n", f"{opening(struct)}\n", fields_list(struct, without=common)]
    return "\n".join(parts)
