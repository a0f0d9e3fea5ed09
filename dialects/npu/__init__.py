"""The `npu` dialect: matrix work as scheduled loop nests, the rest as vector work and moves; tiles in DRAM and SPM."""

from xdsl.ir import Dialect

from npuc.dialects.blockfloat import BlockFloatType
from npuc.dialects.npu.attrs import BlockType, BoxAttr, DimsAttr, MapAttr, NestAttr, Range, ScheduleAttr
from npuc.dialects.npu.contract import ContractOp, operand_tensors
from npuc.dialects.npu.groups.op import GroupOp
from npuc.dialects.npu.groups.window import RowWindowOp
from npuc.dialects.npu.im2col import Col2ImOp, Im2ColOp
from npuc.dialects.npu.interleave import InterleaveOp, StreamsOp, YieldOp
from npuc.dialects.npu.reread import Reread, RereadAttr
from npuc.dialects.npu.resident import Resident, ResidentAttr
from npuc.dialects.npu.tensor_work import ConstantOp, MoveOp, TensorWorkOp, ViewOp
from npuc.dialects.npu.tiles import (
    AsBlockOp,
    AsTensorOp,
    ConvertOp,
    EmptyOp,
    FetchOp,
    FillOp,
    FinishOp,
    LoadOp,
    MacOp,
    PutOp,
    StartOp,
    StoreOp,
    ZeroOp,
)
from npuc.dialects.npu.tiles.apply import ApplyOp
from npuc.dialects.npu.units import UnitsAttr
from npuc.dialects.npu.vector import VectorOp
from npuc.dialects.sparse import SparseType

__all__ = [
    "NPU",
    "ApplyOp",
    "AsBlockOp",
    "AsTensorOp",
    "BlockFloatType",
    "BlockType",
    "BoxAttr",
    "Col2ImOp",
    "ConstantOp",
    "ContractOp",
    "ConvertOp",
    "DimsAttr",
    "EmptyOp",
    "FetchOp",
    "FillOp",
    "FinishOp",
    "GroupOp",
    "Im2ColOp",
    "InterleaveOp",
    "LoadOp",
    "MacOp",
    "MapAttr",
    "MoveOp",
    "NestAttr",
    "PutOp",
    "Range",
    "Reread",
    "RereadAttr",
    "Resident",
    "ResidentAttr",
    "RowWindowOp",
    "ScheduleAttr",
    "SparseType",
    "StartOp",
    "StoreOp",
    "StreamsOp",
    "TensorWorkOp",
    "UnitsAttr",
    "VectorOp",
    "ViewOp",
    "ZeroOp",
    "operand_tensors",
]

NPU = Dialect(
    "npu",
    [
        ContractOp,
        InterleaveOp,
        GroupOp,
        RowWindowOp,
        VectorOp,
        MoveOp,
        ViewOp,
        ConstantOp,
        Im2ColOp,
        Col2ImOp,
        EmptyOp,
        AsBlockOp,
        AsTensorOp,
        LoadOp,
        FetchOp,
        PutOp,
        ZeroOp,
        StartOp,
        MacOp,
        ConvertOp,
        ApplyOp,
        StoreOp,
        FillOp,
        FinishOp,
        StreamsOp,
        YieldOp,
    ],
    [
        *(NestAttr, ScheduleAttr, ResidentAttr, RereadAttr, UnitsAttr, MapAttr, DimsAttr, BoxAttr),
        *(BlockType, BlockFloatType, SparseType),
    ],
)
