"""Cases of onnx's own tests of operators, and what a run of each gives; `onnx_package.py` is where they are from."""

from __future__ import annotations

import io
import warnings
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from npuc.compiler import run_file
from npuc.compiler.core.errors import NpucError

Array = npt.NDArray[Any]
DATA = Path(__file__).parent / "oracle" / "data" / "onnx"
SAMPLE, CONTRIBUTED = DATA / "cases.zip", DATA / "contributed.zip"


@dataclass(frozen=True)
class Case:
    """A model of one or a few nodes, the values of its inputs, those of its outputs, and how close they must come."""

    name: str
    operator: str
    model: bytes
    inputs: Mapping[str, Array]
    outputs: Mapping[str, Array]
    rtol: float
    atol: float
    rounding: float = 0.0
    """The relative distance of neighbours of the outputs' type, where that is one of 16 bits."""


@dataclass(frozen=True)
class Verdict:
    """What became of a case: "equal", "different", "refused", "broken" (by another error), and why."""

    kind: str
    reason: str = ""


def judged(case: Case, folder: Path) -> Verdict:
    """Run a case by `run_file` and compare."""
    path = folder / "case.onnx"
    path.write_bytes(case.model)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            run = run_file(path, inputs=dict(case.inputs), inference=True)
    except (NpucError, ExceptionGroup) as error:
        return Verdict("refused", str(error).partition("error: ")[2].split("\n")[0] or str(error))
    except Exception as error:  # a defect, which the tests show
        return Verdict("broken", f"{type(error).__name__}: {error}")
    for name, wanted in case.outputs.items():
        found = run.outputs.get(name)
        if found is None:
            return Verdict("different", f"no output {name}")
        if found.shape != wanted.shape:
            return Verdict("different", f"{name}: shape {list(found.shape)}, expected {list(wanted.shape)}")
        if not _is_close(case, found, wanted):
            worst = np.nanmax(np.abs(found.astype(np.float64) - wanted.astype(np.float64)))
            return Verdict("different", f"{name}: {worst} apart")
    return Verdict("equal")


def _is_close(case: Case, found: Array, wanted: Array) -> bool:
    """Whether values are as close as the case says, or as the type of its outputs holds sums of such values."""
    finite = np.abs(wanted[np.isfinite(wanted)]) if wanted.dtype.kind == "f" else np.zeros(0)
    largest = float(finite.max(initial=0))
    rtol, atol = max(case.rtol, 2 * case.rounding), max(case.atol, max(case.rounding, 1e-6) * largest)
    return np.allclose(found.astype(wanted.dtype), wanted, rtol, atol, equal_nan=True)


def store_cases(path: Path, cases: Iterable[Case]) -> None:
    """Write cases to a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for case in cases:
            arrays = {f"in:{n}": v for n, v in case.inputs.items()} | {f"out:{n}": v for n, v in case.outputs.items()}
            arrays["tolerance"] = np.array([case.rtol, case.atol, case.rounding])
            values = io.BytesIO()
            np.savez(values, allow_pickle=False, **arrays)
            for file, data in (("model.onnx", case.model), ("values.npz", values.getvalue())):
                info = zipfile.ZipInfo(f"{case.operator}/{case.name}/{file}")  # no clock: the same file each time
                archive.writestr(info, data, zipfile.ZIP_DEFLATED)


def stored_cases(path: Path) -> Iterator[Case]:
    """The cases of a file."""
    with zipfile.ZipFile(path) as archive:
        names = sorted({name.rpartition("/")[0] for name in archive.namelist()})
        for name in names:
            values = np.load(io.BytesIO(archive.read(f"{name}/values.npz")))
            inputs = {key.removeprefix("in:"): values[key] for key in values.files if key.startswith("in:")}
            outputs = {key.removeprefix("out:"): values[key] for key in values.files if key.startswith("out:")}
            operator, _, short = name.partition("/")
            model = archive.read(f"{name}/model.onnx")
            yield Case(short, operator, model, inputs, outputs, *values["tolerance"].tolist())
