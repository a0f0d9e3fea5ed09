"""
Pass `contraction-form`: tensor contractions as they are, or as transpositions and one product of matrices.

    %0 = npu.move transpose(%x) <{axes = array<i64: 0, 2, 1, 3>}> : …
    %1 = npu.view reshape(%0) : (tensor<4x5x6x7xf32>) -> tensor<20x42xf32>
    %y = npu.contract (m = 20, n = 24, k = 42) ins(X = %1[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W) : …
      -> contraction-form{form=native} ->
    %w1 = npu.view reshape(%w) : (tensor<42x24xf32>) -> tensor<6x7x24xf32>
    %y1 = npu.contract (m0 = 4, m1 = 5, n = 24, k0 = 6, k1 = 7) ins(X = %x[m0, k0, m1, k1], W = %w1[k0, k1, n])
        outs(Y[m0, m1, n]) do(Y += X * W) : …
    %y = npu.view reshape(%y1) : (tensor<4x5x24xf32>) -> tensor<20x24xf32>

- `native` lets contractions read and write tensors as they lie in memory: transpositions before and after become index
  maps of a nest with more dimensions. What `einsum` makes of a tensor contraction is a product of matrices, so that
  this gives the contraction itself; heads of attention are read and written in place, too.
- `ttgt` (transpose, transpose, GEMM, transpose) makes a contraction with several dimensions for one of M, N, K a
  product of matrices, with as few elements transposed as possible, each contraction by itself: of a tensor that two
  read in different orders there are two copies. The copies are `npu.move`.

Convolutions, whose indices are sums of dimensions, stay as they are: `lower-to-npu{conv=im2col}` chooses their form. So
do contractions that have a schedule, residents or a mapping, which are of one form.
"""

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from npuc.compiler.transforms.contraction_form.patterns import ContractByGemm, FoldTranspositions, is_settled
from npuc.compiler.transforms.named_pattern import apply_pattern
from npuc.compiler.transforms.unused import remark_idle, remark_no_contractions
from npuc.dialects.npu import ContractOp
from npuc.dialects.provenance import layer_of

_PATTERNS = {"native": FoldTranspositions, "ttgt": ContractByGemm}
_IDLE = {
    "native": "no contraction reads or writes a transposed tensor that it could take as it lies",
    "ttgt": "no contraction has several dimensions for one of M, N, K that a product of matrices could have as one",
}


@dataclass(frozen=True)
class ContractionFormPass(ModulePass):
    """Give tensor contractions the form native or ttgt (transpositions and a GEMM); `only` is a glob of layer names."""

    name = "contraction-form"
    EXAMPLE: ClassVar = "lower-to-npu,contraction-form{form=native}"
    EXAMPLE_NETWORK: ClassVar = """\
network contraction(batch=4) {
  input x: f32[batch, 6, 5, 7]
  w = param([7, 6, 8])
  input t: f32[batch, 5, 8]
  loss mse(einsum("aebf,fec->abc", [x, w]), t)
  optimizer sgd(lr=0.1)
}
"""

    form: str
    """native, or ttgt: transpositions and a product of matrices."""
    only: str | None = None
    """A glob of layer names; others stay as they are."""

    def __post_init__(self) -> None:
        if self.form not in _PATTERNS:
            raise ValueError(f"form is '{self.form}', expected {' or '.join(_PATTERNS)}")

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not remark_no_contractions(self, op, self.only):
            return
        pattern = _PATTERNS[self.form]()
        contracts = [inner for inner in op.walk() if isinstance(inner, ContractOp) and self._takes(inner)]
        free = [contract for contract in contracts if not is_settled(contract)]
        changed = [apply_pattern(pattern, contract) for contract in free]
        if contracts and not free:
            remark_idle(self, "the contractions have schedules, residents or mappings, or run together already")
        elif not any(changed):
            remark_idle(self, _IDLE[self.form])

    def _takes(self, contract: ContractOp) -> bool:
        return self.only is None or fnmatchcase(layer_of(contract), self.only)
