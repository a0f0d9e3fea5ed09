"""What rows and warnings say of products of sparse operands."""

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from math import ceil, prod
from typing import TypeAlias, cast

from xdsl.ir import Attribute, Operation, SSAValue

from npuc.compiler.analysis.machine.array import Array
from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.machine.skipping import Skipping, Skips, shares
from npuc.compiler.analysis.machine.stationary import carried, placement
from npuc.compiler.analysis.nest.elements import element_bits
from npuc.compiler.report.sparse import SparseFacts
from npuc.dialects.npu import ContractOp, InterleaveOp
from npuc.dialects.npu.nest import Nest, Statement
from npuc.dialects.npu.widths import Width, sparse_factor, whole_bytes
from npuc.dialects.products import DENSE, Passes
from npuc.dialects.provenance import layer_of, role_of
from npuc.dialects.sparse import dense_element
from npuc.dialects.tensors import shape_of, tensor_type
from npuc.hardware import Hardware

SKIPS = "array.skips"
NAMED = 6
"""The most layers that a warning names."""
OF_SCHEME = {
    "array.slice": "column-balance",
    "array.balance": "column-balance",
    "array.lanes": "window",
    "array.lookahead": "window",
}
"""The keys that only one way to skip reads."""
PassesOf: TypeAlias = Callable[[Statement], tuple[Passes, Passes]]
"""The passes of a product of a statement that are carried out, and those of its time."""


def sparse_facts(ops: Sequence[ContractOp], machine: Machine) -> SparseFacts | None:
    """The facts on sparse operands of contractions that run together on an array; None where all are dense."""
    return facts_of(ops, tuple(op.nest for op in ops), on_array(machine.array), machine.element_bytes)


def facts_of(
    ops: Sequence[ContractOp], nests: Sequence[Nest], passes_of: PassesOf, float_bytes: int | None
) -> SparseFacts | None:
    """
    The facts on sparse operands of contractions that run together; None where all are dense.

    `float_bytes` are those of every float where the machine says so.
    """
    operands = [value for op, nest in zip(ops, nests, strict=True) for value in op.operands[: len(nest.ins)]]
    factors = [sparse_factor(value) for value in operands]
    if all(one is None for one in factors):
        return None
    done = Fraction(0)
    carried_passes = time = dense = Fraction(0)
    for nest in nests:
        for statement in nest.statements:
            own, taken = passes_of(statement)
            done += nest.points * Fraction(own) / statement.passes
            carried_passes += nest.points * own
            time, dense = time + nest.points * taken, dense + nest.points * statement.passes
    sparse = dict.fromkeys(value for value, one in zip(operands, factors, strict=True) if one is not None)
    return SparseFacts(
        operand_densities=[1.0 if one is None else float(one.density) for one in factors],
        carried_macs=ceil(done),
        carried_passes=float(carried_passes),
        time_share=float(time / dense),
        sparse_bytes=sum(_bytes(element_bits(one.type, float_bytes), one) for one in sparse),
        dense_bytes=sum(_bytes(element_bits(dense_element(_element(one)), float_bytes), one) for one in sparse),
    )


def on_array(array: Array) -> PassesOf:
    """The passes of a product on an array: those that are carried out, and those of its time."""

    def passes_of(statement: Statement) -> tuple[Passes, Passes]:
        timed = statement.passes if array.dataflow == "rs" else placement(statement, array).passes
        return carried(statement, array), timed

    return passes_of


def without_array(skipping: Skipping) -> PassesOf:
    """
    The passes of a product where nothing says what stays in an array: an operand in N:M form, the sparser of two, does.
    """

    def passes_of(statement: Statement) -> tuple[Passes, Passes]:
        structured = [
            (one.density, number) for number, one in enumerate(statement.factors) if one is not None and one.pattern
        ]
        found = shares(statement.factors, min(structured)[1] if structured else None, skipping)
        own = statement.passes
        return own if found.carried == 1 else own * found.carried, own if found.time == 1 else own * found.time

    return passes_of


def skipping_of(hardware: Hardware, backend: str) -> Skipping:
    """How a machine without an array of its own skips. Raises `UsageError` where columns are needed that it lacks."""
    scheme = cast("Skips", hardware.get(SKIPS, str) or "none")
    if scheme == "column-balance":
        columns = hardware.require("array.cols", int, backend=backend)
        size, balance = hardware.get("array.slice", int), hardware.get("array.balance", bool)
        return Skipping(scheme, columns, size or Skipping.slice, bool(balance))
    if scheme == "window":
        lanes, rows = hardware.get("array.lanes", int), hardware.get("array.lookahead", int)
        return Skipping(scheme, lanes=lanes or Skipping.lanes, lookahead=rows or Skipping.lookahead)
    return Skipping(scheme)


def _element(value: SSAValue) -> Attribute:
    return tensor_type(value).element_type


def _bytes(bits: Width, value: SSAValue) -> int:
    return whole_bytes(bits * prod(shape_of(value)))


def skip_warnings(
    ops: Iterable[Operation], hardware: Hardware, passes_of: PassesOf, *, only_gates: bool = False
) -> list[str]:
    """Says where keys of skipping have no effect, or operands are multiplied as dense ones."""
    scheme = hardware.get(SKIPS, str) or "none"
    found = [
        f"{key} has no effect: {SKIPS} is '{scheme}', not '{own}'"
        for key, own in OF_SCHEME.items()
        if hardware.written(key) and scheme != own
    ]
    if scheme == "none":
        return found
    products = [(contract, s) for op in ops for contract in _contracts(op) for s in contract.nest.statements]
    sparse = [(contract, s) for contract, s in products if s.factors != DENSE]
    if not sparse:
        return [*found, f"{SKIPS} has no effect: no operand of a product is sparse"]
    if only_gates and scheme != "gated":
        found.append(f"{SKIPS} = '{scheme}' saves energy alone: elements of a row-stationary array only rest at zeros")
    if scheme == "structured":
        plain = [contract for contract, s in sparse if passes_of(s)[0] == s.passes]
        if plain:
            named = f"the sparse operands of {len(plain):,} of {len(sparse):,} products"
            why = f"'{scheme}' skips stationary N:M alone"
            found.append(f"{named} are multiplied as dense ones: {why}; they are of {_layers(plain)}")
    return found


def _layers(contracts: Sequence[ContractOp]) -> str:
    """The layers of contractions, with the roles in which they occur; of many the first ones."""
    roles: dict[str, list[str]] = {}
    for contract in contracts:
        roles.setdefault(layer_of(contract), []).append(str(role_of(contract) or "product"))
    named = [f"{layer} ({', '.join(dict.fromkeys(own))})" for layer, own in roles.items()]
    more = len(named) - NAMED
    return ", ".join(named[:NAMED]) + (f" and {more:,} more layers" if more > 0 else "")


def _contracts(op: Operation) -> Sequence[ContractOp]:
    if isinstance(op, InterleaveOp):
        return op.contracts
    return (op,) if isinstance(op, ContractOp) else ()
