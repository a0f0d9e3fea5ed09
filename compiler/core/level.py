"""What kind of function a pass takes, and the error about one that it does not take."""

from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation

from npuc.compiler.core.errors import SourceError
from npuc.compiler.core.verify import location_of
from npuc.dialects.train.base import TrainOp


def refused(op: Operation, message: str, name: str) -> SourceError:
    """An error about what a pass cannot take, at the place of an operation."""
    return SourceError(f"{name}: {message}", location=location_of(op))


def require_train_level(func: FuncOp, name: str) -> None:
    """Raise `SourceError` at the first operation of a function of a lower level than the pass `name` takes."""
    lowered = next((op for op in func.body.block.ops if not isinstance(op, TrainOp | ReturnOp)), None)
    if lowered is not None:
        message = f"found {lowered.name}, expected train operations: run it before lower-to-npu"
        raise refused(lowered, message, name)
