"""The operations that `decompose` leaves: what each emitter of another dialect lowers, one rule each."""

from npuc.dialects.npu.contract import ContractOp
from npuc.dialects.train import (
    arithmetic,
    bitwise,
    box,
    compare,
    constant,
    dropout,
    extreme,
    indexing,
    join,
    order,
    pairs,
    pointwise,
    reduction,
    scatter,
    shape,
    smooth,
    sort,
    stepwise,
    transcendental,
)

ELEMENTWISE = (
    arithmetic.AddOp,
    arithmetic.SubOp,
    arithmetic.MulOp,
    arithmetic.DivOp,
    pointwise.MaxOp,
    pointwise.MinOp,
    pointwise.PowOp,
    pairs.Atan2Op,
    stepwise.FmodOp,
    pointwise.AbsOp,
    stepwise.CeilOp,
    stepwise.FloorOp,
    stepwise.RoundOp,
    pointwise.ExpOp,
    transcendental.Expm1Op,
    pointwise.LogOp,
    transcendental.Log1pOp,
    transcendental.Log2Op,
    transcendental.Log10Op,
    pointwise.SqrtOp,
    pointwise.SinOp,
    pointwise.CosOp,
    transcendental.TanOp,
    transcendental.AsinOp,
    transcendental.AcosOp,
    transcendental.AtanOp,
    transcendental.SinhOp,
    transcendental.CoshOp,
    smooth.TanhOp,
    transcendental.AsinhOp,
    transcendental.AcoshOp,
    transcendental.AtanhOp,
    pointwise.ErfOp,
    bitwise.BitwiseAndOp,
    bitwise.BitwiseOrOp,
    bitwise.BitwiseXorOp,
    bitwise.BitwiseNotOp,
    bitwise.ShiftLeftOp,
    bitwise.ShiftRightOp,
    compare.LogicalAndOp,
    compare.LogicalOrOp,
    compare.LogicalNotOp,
    compare.EqualOp,
    compare.NotEqualOp,
    compare.LessOp,
    compare.LessEqualOp,
    compare.GreaterOp,
    compare.GreaterEqualOp,
    compare.WhereOp,
    arithmetic.CastOp,
)
"""An element of the result is a function of one element of each operand; operands broadcast."""
MOVES = (
    shape.ReshapeOp,
    shape.TransposeOp,
    shape.ExpandOp,
    box.SliceOp,
    box.PadOp,
    box.SlicePutOp,
    join.ConcatOp,
    order.FlipOp,
)
"""Elements in other places."""
REDUCTIONS = (
    arithmetic.ReduceOp,
    extreme.AmaxOp,
    extreme.AminOp,
    reduction.ProdOp,
    extreme.ArgmaxOp,
    extreme.ArgminOp,
)
"""One element, or its place, for all along some axes."""
INDEXED = (indexing.IndexOp, scatter.IndexPutOp, scatter.IndexReduceOp, sort.ArgsortOp)
"""Elements at places that are data."""
CONSTANTS = (arithmetic.ConstantOp, constant.ArangeOp, constant.ListedNumbersOp, constant.IntegersOp)
"""Elements that are known."""
OUTLINED = (dropout.RandomBitsOp,)
"""Operations of hundreds of others: one function of those for each type of the result, which is called."""
PRIMITIVES = frozenset((*ELEMENTWISE, *MOVES, *REDUCTIONS, *INDEXED, *CONSTANTS, *OUTLINED, ContractOp))
