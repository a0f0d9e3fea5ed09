"""
Optimality certificates of rows and layers (docs/bounds.md): their traffic beside a lower bound.

A row's certificate is that of its operation. A layer's sums those of its products, where dX and dW of one product count
as one: the bound holds for any program of the two, also if they run one after the other. So a layer's gap includes that
of its choice of program.
"""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field

from xdsl.ir import Operation, SSAValue

from npuc.backends.cycle.facts import CertificateFacts
from npuc.backends.cycle.pool import pool_groups
from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.nest.bounds import Certificate
from npuc.compiler.analysis.nest.elements import contract_widths
from npuc.compiler.analysis.programs.joint_bounds import joint_certificate
from npuc.compiler.report import CertifiedProducts, LayerCertificate, OpRow
from npuc.compiler.report.sections import UnstoredFacts
from npuc.dialects.npu import ContractOp, InterleaveOp
from npuc.dialects.npu.resident import memory_of, unmoved_tensors
from npuc.dialects.npu.shared import number_values
from npuc.dialects.npu.tensor_work import same_value
from npuc.dialects.provenance import layer_of

GRADIENTS = {"dX", "dW"}


def certificate_facts(certificate: Certificate) -> CertificateFacts:
    """A row's certificate as its section of `native`."""
    return CertificateFacts(
        compulsory_bytes=certificate.compulsory,
        capacity_bound_bytes=certificate.capacity,
        reached_bytes=certificate.reached,
        gap_bytes=certificate.gap,
        gap=certificate.gap / certificate.bound if certificate.bound else None,
        optimal=certificate.optimal,
    )


def certificate_of(row: OpRow, reached: int | None = None) -> Certificate:
    """The certificate of a row that has one; `reached` replaces the bytes that the row moves."""
    found = CertificateFacts.found_in(row)
    assert found is not None
    moved = found.reached_bytes if reached is None else reached
    return Certificate(found.compulsory_bytes, found.capacity_bound_bytes, moved)


@dataclass
class _Products:
    """Contractions that are certified together, and their rows."""

    contracts: list[ContractOp] = field(default_factory=list[ContractOp])
    rows: list[OpRow] = field(default_factory=list[OpRow])


def layer_certificates(ops: Sequence[Operation], rows: Sequence[OpRow], machine: Machine) -> list[LayerCertificate]:
    """The certificates of the layers that have products, in the order of the program; `rows` are those of `ops`."""
    layers: dict[str, list[CertifiedProducts]] = {}
    for products in _products(ops, rows, machine):
        layers.setdefault(products.rows[0].name, []).append(_certified(products, machine))
    return [_layer(name, found) for name, found in layers.items()]


def _products(ops: Sequence[Operation], rows: Sequence[OpRow], machine: Machine) -> Iterator[_Products]:
    """The units of certification: dX and dW of one product, contractions that share a pool, any other by itself."""
    pool = {
        op: number for number, group in enumerate(pool_groups(ops, machine)) if _are_independent(group) for op in group
    }
    found: dict[Hashable, _Products] = {}
    for op, row in zip(ops, rows, strict=True):
        if isinstance(op, ContractOp | InterleaveOp):
            key: Hashable = row.index
            if isinstance(op, ContractOp) and machine.policy == "lru":
                key = ("pool", pool[op]) if op in pool else key
            elif isinstance(op, ContractOp):
                key = _pair(op) or key
                key = key if key not in found or _is_other_half(found[key], op, row) else row.index
            one = found.setdefault(key, _Products())
            one.contracts += [op] if isinstance(op, ContractOp) else op.contracts
            one.rows.append(row)
    yield from found.values()


def _pair(op: ContractOp) -> Hashable:
    """A key that is equal for dX and dW of one product, which share dY; None for other contractions."""
    outs = {out.name for out in op.nest.outs}
    dy = next((v for t, v in zip(op.nest.ins, op.operands, strict=False) if t.name == "dY"), None)
    return ("pair", layer_of(op), _same(dy)) if dy is not None and outs <= GRADIENTS else None


def _is_other_half(products: _Products, op: ContractOp, row: OpRow) -> bool:
    """Whether a contraction is the other gradient, with the same repeat and no dependence between the two."""
    names = {out.name for one in products.contracts for out in one.nest.outs}
    others = names.isdisjoint(out.name for out in op.nest.outs)
    return others and row.repeat == products.rows[0].repeat and _are_independent([*products.contracts, op])


def _are_independent(contracts: Sequence[ContractOp]) -> bool:
    """Whether no contraction reads a result of another one."""
    results = {result for op in contracts for result in op.results}
    return results.isdisjoint(memory_of(value) for op in contracts for value in op.operands)


def _same(value: SSAValue) -> Hashable:
    """A key that is equal for values in the same memory."""
    return same_value(memory_of(value))


def _certified(products: _Products, machine: Machine) -> CertifiedProducts:
    """The certificate of contractions that are certified together."""
    contracts, rows = products.contracts, products.rows
    values = number_values([[_same(value) for value in op.operands] for op in contracts])
    if len(rows) == 1 and len({number for own in values for number in own}) == sum(len(own) for own in values):
        found = certificate_of(rows[0])
    else:
        widths = tuple(contract_widths(op, machine).without(op.nest, unmoved_tensors(op)) for op in contracts)
        reached = sum(certificate_of(row).reached for row in rows)
        nests = tuple(op.nest for op in contracts)
        found = joint_certificate(nests, values, machine.bounding_spm, widths, reached)
        found = found.without_traffic(sum(not_stored(row) for row in rows))
    first = rows[0].phase
    return CertifiedProducts(
        phase=first if all(row.phase == first for row in rows) else "dxdw",
        rows=[row.index for row in rows],
        repeat=rows[0].repeat,
        compulsory_bytes=found.compulsory,
        capacity_bound_bytes=found.capacity,
        bound_bytes=found.bound,
        reached_bytes=found.reached,
        gap_bytes=found.gap,
        optimal=found.optimal,
    )


def not_stored(row: OpRow) -> int:
    """The bytes of results that a row need not write, as only fused vector work reads them."""
    found = UnstoredFacts.found_in(row)
    return 0 if found is None else found.not_stored_bytes


def _layer(name: str, products: list[CertifiedProducts]) -> LayerCertificate:
    """The certificate of a layer, over all runs of all its products."""
    bound = sum(one.repeat * one.bound_bytes for one in products)
    reached = sum(one.repeat * one.reached_bytes for one in products)
    return LayerCertificate(
        layer=name,
        compulsory_bytes=sum(one.repeat * one.compulsory_bytes for one in products),
        capacity_bound_bytes=sum(one.repeat * one.capacity_bound_bytes for one in products),
        bound_bytes=bound,
        reached_bytes=reached,
        gap_bytes=reached - bound,
        gap=(reached - bound) / bound if bound else None,
        optimal=reached == bound,
        products=products,
    )
