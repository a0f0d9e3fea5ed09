"""Arrays by name in files: what a run is given, and what it leaves."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from npuc.compiler.core.errors import UsageError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from npuc.compiler.interpreter.execute import Run


def read_arrays(path: str) -> dict[str, npt.NDArray[Any]]:
    """The arrays of an `.npz` file by name. Raises `UsageError` for a file that is none, or holds Python objects."""
    import numpy as np

    from npuc.compiler.core.foreign import Foreign, first_line

    def refused(error: BaseException) -> UsageError:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else first_line(error)
        return UsageError(f"cannot read '{path}': {reason}", hint="numpy.savez writes such files")

    # numpy and its decompressors raise some ten kinds of exceptions for a broken file.
    with Foreign(refused), open(path, "rb") as file:
        if file.seekable() and file.peek(2)[:2] != b"PK":
            raise UsageError(f"--inputs {path}: expected an .npz file with named arrays")
        loaded: object = np.load(file, allow_pickle=False)
        if not isinstance(loaded, Mapping):
            raise UsageError(f"--inputs {path}: expected an .npz file with named arrays")
        arrays = cast("Mapping[str, npt.NDArray[Any]]", loaded)
        return {name: np.asarray(arrays[name]) for name in arrays}


def packed(result: Run) -> bytes:
    """
    The results as an `.npz` file: `loss`, of several steps `losses`; `out/NAME`, `param/NAME`, `grad/NAME`, `new/NAME`.
    """
    import numpy as np

    arrays: dict[str, np.ndarray[Any, Any]] = {}
    if result.loss is not None:
        arrays["loss"] = np.asarray(result.loss)
    if len(result.losses) > 1:
        arrays["losses"] = np.asarray(result.losses)
    for prefix, group in (
        ("out", result.outputs),
        ("param", result.params),
        ("grad", result.gradients),
        ("new", result.updated),
    ):
        arrays |= {f"{prefix}/{name}": np.asarray(array) for name, array in group.items()}
    stream = io.BytesIO()
    np.savez(stream, allow_pickle=False, **arrays)
    return stream.getvalue()
