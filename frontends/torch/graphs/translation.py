"""What becomes of an exported program that is written into a script."""

from __future__ import annotations

from dataclasses import dataclass, field

from npuc.frontends.dsl.syntax import Name
from npuc.frontends.script.weights import Weight


@dataclass
class Translation:
    """
    What became of a program: its outputs by name, the weights that it has, and remarks.

    `weights` are all parameters, buffers and constants, whether the script uses them or not.
    """

    outputs: dict[str, Name] = field(default_factory=dict[str, Name])
    weights: list[Weight] = field(default_factory=list[Weight])
    remarks: list[str] = field(default_factory=list[str])
