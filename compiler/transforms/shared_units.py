"""What passes do about contractions that units share."""

from xdsl.dialects.builtin import ModuleOp

from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.verify import location_of
from npuc.dialects.npu import ContractOp
from npuc.dialects.provenance import layer_of


def refuse_units(module: ModuleOp, name: str) -> None:
    """Raise, at its place, for a contraction that units share, which the pass of that name does not support."""
    for op in module.walk():
        if isinstance(op, ContractOp) and op.units_attr is not None:
            raise UsageError(
                f"{name}: {layer_of(op) or 'a contraction'} is shared over units: the pass knows one array",
                location=location_of(op),
                hint=f"leave out the pass assign-units, or run it after {name}",
            )
