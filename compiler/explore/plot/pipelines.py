"""Short names of pipelines that are compared: of those that begin and end alike, what is different."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

KEY = "pipeline"
"""The key of a sweep whose values are pipelines."""
NOTHING = "nothing"
"""The label of a pipeline that only has the passes of all."""
_PASS = re.compile(r"(?:[^,{]|\{[^}]*\}?)+")


@dataclass(frozen=True)
class PipelineLabels:
    """
    A label for each value of a varied pipeline.

    `common` says where the passes stand that labels leave out (`between autodiff and schedule`); empty if they leave
    out none.
    """

    labels: Mapping[Any, str]
    common: str = ""

    def of(self, value: object, room: int = 0) -> str:
        """The label of a value; with `room` on lines of about so many characters, broken behind commas."""
        label = self.labels.get(value, str(value))
        if not room or len(label) <= room:
            return label
        lines = [""]
        for piece in re.findall(r"\{?[^,{\s]+(?:[,\s]+|$|(?=\{))", label):
            if lines[-1] and len(lines[-1] + piece.rstrip()) > room:
                lines.append("")
            lines[-1] += piece
        return "\n".join(line.rstrip() for line in lines)


def short_pipelines(values: Iterable[object]) -> PipelineLabels:
    """Labels of pipelines, of which names and levels of -O (without a comma) stay as they are."""
    passes = {value: _PASS.findall(value) for value in values if isinstance(value, str) and "," in value}
    if len(passes) < 2:
        return PipelineLabels({})
    several = list(passes.values())
    before = _equal(several)
    after = _equal([one[len(before) :][::-1] for one in several])[::-1]
    if not before and not after:
        return PipelineLabels({})
    own = {value: one[len(before) : len(one) - len(after)] for value, one in passes.items()}
    ends = {"before": after} if not before else {"after": before} if not after else {"between": before, "and": after}
    common = " ".join(f"{word} {','.join(some)}" for word, some in ends.items())
    return PipelineLabels({value: ",".join(one) or NOTHING for value, one in own.items()}, common)


def _equal(several: Sequence[Sequence[str]]) -> list[str]:
    """The passes that all have first."""
    return [one[0] for one in takewhile(lambda one: len(set(one)) == 1, zip(*several, strict=False))]
