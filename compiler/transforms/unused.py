"""
Options of passes that change nothing in a program, and passes that find nothing to do: remarks, so that none is
ignored in silence.

What has no meaning whatever the program is, such as two options that exclude each other, is refused when the pass is
made. A pass says here what only the program shows: that its glob matches no layer, or that all is scheduled already.
"""

from collections.abc import Iterable, Sequence
from dataclasses import MISSING, fields
from fnmatch import fnmatchcase
from typing import cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from npuc.compiler.core.errors import did_you_mean
from npuc.compiler.core.stages import remark
from npuc.dialects.npu import ContractOp, InterleaveOp, MacOp
from npuc.dialects.provenance import layer_of
from npuc.dialects.train.base import TrainOp

NO_SCHEDULES = "no contraction has a schedule yet: it comes after schedule"


def options_given(step: ModulePass, names: Sequence[str] = ()) -> list[str]:
    """The options of a pass among `names`, by default all, that differ from their defaults: `only=fc1`."""
    found: list[str] = []
    for one in fields(step):
        if one.name == "name" or not one.init or (names and one.name not in names):
            continue
        value: object = getattr(step, one.name)
        if one.default is MISSING or value != one.default:
            found.append(f"{one.name.replace('_', '-')}={_written(value)}")
    return found


def _written(value: object) -> str:
    if isinstance(value, tuple):
        return ",".join(map(str, cast("tuple[object, ...]", value)))
    return str(value).lower() if isinstance(value, bool) else str(value)


def remark_unused(step: ModulePass, names: Sequence[str], why: str) -> None:
    """Tell which options among `names` were given, which have no effect."""
    given = options_given(step, names)
    if given:
        verb = "has" if len(given) == 1 else "have"
        remark(f"pass '{step.name}': {' and '.join(given)} {verb} no effect: {why}")


def remark_idle(step: ModulePass, why: str) -> None:
    """Tell that a pass has nothing to do."""
    remark(f"pass '{step}' has nothing to do: {why}")


def remark_unmatched(step: ModulePass, only: str | None, layers: Iterable[str], what: str = "contraction") -> bool:
    """Tell that no layer matches the glob of a pass, if so; whether some match."""
    known = list(dict.fromkeys(layers))
    if only is None or any(fnmatchcase(layer, only) for layer in known):
        return True
    near = did_you_mean(only, known)
    remark_unused(step, ("only",), f"no {what} is of such a layer{f' ({near})' if near else ''}")
    return False


def remark_no_contractions(step: ModulePass, module: ModuleOp, only: str | None) -> bool:
    """
    Tell why a program has no contractions of the layers that a pass takes, if so; whether it has some.

    No layer matches `only`, the pass stands at a wrong place of the pipeline, or, which is told where an option was
    given, the program computes no products.
    """
    layers = [layer_of(op) for op in module.walk() if isinstance(op, ContractOp | InterleaveOp)]
    if layers:
        return remark_unmatched(step, only, layers)
    if any(isinstance(op, TrainOp) for op in module.walk()):
        remark_idle(step, "the program has no contractions yet: it comes after lower-to-npu")
    elif any(isinstance(op, MacOp) for op in module.walk()):
        remark_idle(step, "the contractions are loops of tiles: it comes before lower-tiles")
    elif options_given(step):
        remark_idle(step, "the program has no contractions")
    return False
