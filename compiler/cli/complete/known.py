"""What the program knows by name, from a file that is made of it: `python -m tests.unit.cli.completion_words`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TypedDict, cast

Choices = Mapping[str, Sequence[str]]
"""Names, each with the values that it is known to take."""


class Words(TypedDict):
    """Names of the program: values of hardware keys, options of passes with theirs, and others by what they are of."""

    keys: Choices
    passes: Mapping[str, Choices]
    names: Choices
    parameters: Mapping[str, Mapping[str, str]]
    layers: Choices


@cache
def words() -> Words:
    """The names."""
    return cast("Words", json.loads(Path(__file__).with_name("words.json").read_text(encoding="utf-8")))
