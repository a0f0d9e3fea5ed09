"""What reports for people say of a backend's model, where models differ."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from npuc.compiler.report.report import Report


@dataclass(frozen=True)
class Words:
    """
    The words of a backend.

    `bound` says for which programs its lower bounds hold (None: with nothing kept between operations, or as the memory
    has it), `larger_memory` what would let it move less. `advice` says what would help most, by the report and what the
    time goes to; "" nothing, None: as for any machine.
    """

    bound: str | None = None
    larger_memory: str = "a larger SPM (--set memory.spm_kib=N)"
    advice: Callable[[Report, str], str | None] | None = None


PLAIN = Words()
