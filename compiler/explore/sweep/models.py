"""The models of a sweep's backends: those of one program where several are varied, as `compile` has them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from npuc.backends.registry import get_backend
from npuc.compiler.driver.together import scoring

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from npuc.backends.base import Backend


@dataclass
class Models:
    """The models of the backends `names` for what `pipeline` leaves of a program, a `module` that may be lowered."""

    names: Sequence[str]
    pipeline: str | None
    module: ModuleOp | None = None

    @cached_property
    def by_name(self) -> dict[str, Backend]:
        """
        The model of each backend. Beside one that scores the level npu those of the level `train` take lowered
        programs where they can.
        """
        # the lookup searches installed backends each time
        found = {name: scoring(get_backend(name), self.pipeline, self.module) for name in self.names}
        if all(model.level != "npu" for model in found.values()):
            return found
        return {name: model if model.level == "npu" else model.lowered() or model for name, model in found.items()}
