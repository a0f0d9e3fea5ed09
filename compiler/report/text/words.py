"""The words of tables: phases, and phrases that depend on the backend's model."""

from __future__ import annotations

from collections.abc import Callable

from npuc.compiler.core.frozen import frozen
from npuc.compiler.report.report import Report

PHASES = {"forward": "forward", "dx": "dX", "dw": "dW", "dxdw": "dX+dW", "update": "update", "comm": "comm"}
"""The phases of a step as tables name them."""


@frozen
class Words:
    """
    The words of a backend.

    `bound` says for which programs its lower bounds hold (None: as for any machine); `larger_memory` names the change
    that would reduce traffic. `advice` makes a suggestion from the report and the resource that limits most of the
    time: "" for none, None for that of any machine.
    """

    bound: str | None = None
    larger_memory: str = "a larger SPM (--set memory.spm_kib=N)"
    advice: Callable[[Report, str], str | None] | None = None


PLAIN = Words()
