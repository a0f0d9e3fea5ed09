"""
The tile level: blocks of tensors moved between DRAM and SPM, and contractions of blocks.

    %e = npu.empty : tensor<6x8xf64>
    %x = npu.load %X[m, k] over (m = %m : 2 in 6, k = 0 : 8) {tensor = "X"} : tensor<6x8xf64> -> !npu.block<2x8xf64>
    %p = npu.load partial %e1[m, n] over (m = %m : 2, n = %n : 4) {tensor = "Y"}
         : tensor<6x4xf64> -> !npu.block<2x4xf64>
    %z = npu.zero [m, n] over (m = %m : 2, n = %n : 4) {tensor = "Y"} : !npu.block<2x4xf64>
    %s = npu.start %z[m, n] from %b[n] over (m = %m : 2, n = %n : 4) : !npu.block<2x4xf64>, !npu.block<4xf64>
    %a = npu.mac %s[m, n] += %x[m, k] * %w[k, n] over (…) : !npu.block<…>, !npu.block<…>, !npu.block<…>
    %f = npu.store %a into %e[m, n] over (m = %m : 2, n = %n : 4) {tensor = "Y"} : !npu.block<2x4xf64>, tensor<6x4xf64>
    %y = npu.finish %f from %B axes [1] {tensor = "Y"} : tensor<6x4xf64>, tensor<4xf64>

Accumulators hold partial sums, whose type (`sums.py`) may be wider than the result's, and so does a tensor of blocks
that leave SPM before they are finished. Finished sums become elements of the result once: in a block before it is
stored, or, where an element may be stored several times, as the tensor is handed on.

    %c = npu.convert %a : !npu.block<2x4xf32> -> !npu.block<2x4xbf16>
    %y = npu.finish %f {tensor = "Y"} : tensor<6x4xf32> -> tensor<6x4xbf16>

A block that stays in SPM takes the elements of its start that no `npu.start` gave it, at the end.

    %b = npu.fill %a from %B axes [1] {tensor = "Y"} : !npu.block<6x4xf64>, tensor<4xf64>

A memory between SPM and DRAM has blocks of its own, which name it; those of SPM are read from and written into them:

    %o = npu.load %X[m, k] over (m = 0 : 6, k = 0 : 8) {tensor = "X", level = "L2"} : tensor<6x8xf64> -> …
    %x = npu.fetch %o[m, k] over (m = %m : 2, k = 0 : 8) {tensor = "X"} : !npu.block<6x8xf64> -> !npu.block<2x8xf64>
    %p = npu.put %a into %s[m, n] over (m = %m : 2, n = %n : 4) {tensor = "Y"}
         : !npu.block<2x4xf64>, !npu.block<6x4xf64>

Each works on a box (`box.py`). A block holds the distinct elements that its index map reaches in its box; positions
outside the tensor are 0 and are dropped when stored. DRAM tensors and accumulators are values, of which only the latest
may be used: an accumulator is updated in place by `start`, `mac` and `fill`, a tensor by `store`. `tensor` names the
tensor of the nest.
"""

from npuc.dialects.npu.tiles.accumulators import ConvertOp, MacOp, StartOp, ZeroOp
from npuc.dialects.npu.tiles.apply import ApplyOp
from npuc.dialects.npu.tiles.levels import FetchOp, PutOp
from npuc.dialects.npu.tiles.transfers import EmptyOp, LoadOp, StoreOp
from npuc.dialects.npu.tiles.whole import AsBlockOp, AsTensorOp, FillOp, FinishOp

__all__ = [
    "ApplyOp",
    "AsBlockOp",
    "AsTensorOp",
    "ConvertOp",
    "EmptyOp",
    "FetchOp",
    "FillOp",
    "FinishOp",
    "LoadOp",
    "MacOp",
    "PutOp",
    "StartOp",
    "StoreOp",
    "ZeroOp",
]
