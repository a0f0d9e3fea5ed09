"""
The tests of operators in the onnx package, as cases.

    python -m tests.onnx_package

writes the sample that is kept in the tree.
"""

from __future__ import annotations

import re
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from npuc.frontends.onnx.names import plain
from tests.onnx_cases import SAMPLE, Array, Case, Verdict, judged, store_cases

_onnx: Any = import_module("onnx")
_node: Any = import_module("onnx.backend.test.case.node")
EACH, MOST_BYTES = 3, 3_000
"""How many cases of an operator the sample has at most, and how many bytes of values one of them."""
_ROUNDINGS = {10: 2.0**-10, 16: 2.0**-7}
"""The relative distance of neighbours in float16 and bfloat16, by their codes."""


def all_cases() -> Iterator[tuple[Case | None, str, list[Case]]]:
    """
    The cases of the onnx package, by name and operator: None for one whose values are no tensors of numbers.

    The second form of a case, where it has one, holds integers and whatever else an exporter writes as constants of
    the model: shapes, axes, bounds are inputs there, so that one model serves several tests.
    """

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = _node.collect_testcases(None)
    for test in found:
        graph = test.model.graph
        operator = graph.node[0].op_type
        (inputs, outputs), *_ = test.data_sets
        names = [value.name for value in graph.input]
        values, wanted = _arrays(names, inputs), _arrays([plain(value.name) for value in graph.output], outputs)
        if values is None or wanted is None:
            yield None, operator, []
            continue
        rounding = max((_ROUNDINGS.get(value.type.tensor_type.elem_type, 0.0) for value in graph.output), default=0.0)
        given = {plain(name): value for name, value in values.items()}
        model = test.model.SerializeToString()
        case = Case(test.name, operator, model, given, wanted, test.rtol, test.atol, rounding)
        whole = {name for name, value in values.items() if value.dtype.kind in "iub"}
        forms = [_held(case, test.model, values, held) for held in (whole, set(names[1:])) if held]
        yield case, operator, forms


def _arrays(names: Sequence[str], values: Sequence[object]) -> dict[str, Array] | None:
    """The numbers of tensors by name; None where there are sequences, strings, or types that numpy lacks."""
    found: dict[str, Array] = {}
    for name, value in zip(names, values, strict=False):
        if isinstance(value, list):
            return None
        array: Array = np.asarray(_onnx.numpy_helper.to_array(value) if _is_message(value) else value)
        if array.dtype.kind not in "fiub" and array.dtype.name != "bfloat16":
            return None
        found[name] = array.astype(np.float32) if array.dtype.name == "bfloat16" else array
    return found


def _is_message(value: object) -> bool:
    return type(value).__name__ == "TensorProto"


def _held(case: Case, model: Any, values: Mapping[str, Array], names: set[str]) -> Case:
    """A case with some of its inputs as constants of the model."""
    changed, held = _onnx.ModelProto(), set[str]()
    changed.CopyFrom(model)
    for name in sorted(names):
        made = _onnx.numpy_helper.from_array(values[name], name)
        kind = next(v.type.tensor_type.elem_type for v in model.graph.input if v.name == name)
        if made.data_type == kind:
            changed.graph.initializer.append(made)
            held.add(name)
    kept = [value for value in changed.graph.input if value.name not in held]
    del changed.graph.input[:]
    changed.graph.input.extend(kept)
    left = {name: value for name, value in case.inputs.items() if name not in {plain(n) for n in held}}
    return replace(case, model=changed.SerializeToString(), inputs=left)


def verdicts(folder: Path, wanted: str = "") -> Iterator[tuple[str, str, Verdict, Case | None]]:
    """Name, operator and verdict of each case of the onnx package, and the form of it that was run."""
    for case, operator, others in all_cases():
        if case is None:
            yield "", operator, Verdict("no numbers"), None
            continue
        if not re.search(wanted, case.name):
            continue
        verdict, form = judged(case, folder), case
        for other in others:
            if verdict.kind == "refused":
                again = judged(other, folder)
                if again.kind != "refused":
                    verdict, form = again, other
        yield case.name, operator, verdict, form


def _sample(folder: Path) -> Iterator[Case]:
    """The first small cases of each operator that come out equal."""
    kept: Counter[str] = Counter()
    for name, operator, verdict, case in verdicts(folder):
        if verdict.kind != "equal" or case is None or kept[operator] == EACH or name.endswith("_expanded"):
            continue
        if sum(v.nbytes for v in (*case.inputs.values(), *case.outputs.values())) + len(case.model) <= MOST_BYTES:
            kept[operator] += 1
            yield case


def main() -> None:
    """Write the sample."""
    with tempfile.TemporaryDirectory() as folder:
        store_cases(SAMPLE, _sample(Path(folder)))


if __name__ == "__main__":
    main()
