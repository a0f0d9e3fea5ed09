"""
npuc's rewrites, for passes of one's own: the patterns that its passes apply, and what some of them are given.

    from npuc.compiler.patterns import PermuteLoops, Tile
    PatternRewriteWalker(Tile(steps={"m": 64})).rewrite_module(module)

`npuc list patterns` lists them, `npuc explain --pattern NAME` shows one. Each is loaded when it is first named.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from npuc.compiler.transforms.canonicalize.patterns import (
        CastThere,
        EqualOperands,
        Folded,
        NeutralParameters,
        PartsOfWhole,
        Repeated,
        SameShape,
        TwoShapes,
        Undone,
    )
    from npuc.compiler.transforms.contraction_form.patterns import ContractByGemm, FoldTranspositions
    from npuc.compiler.transforms.decompose.patterns import DecomposeOperation
    from npuc.compiler.transforms.fuse_vector.patterns import Epilogue, FuseEpilogue
    from npuc.compiler.transforms.gradient_noise.patterns import AddGradientNoise
    from npuc.compiler.transforms.group_weights.patterns import StreamInnermost
    from npuc.compiler.transforms.interleave.patterns import FuseContractions, RoundRobin, gradients, siblings
    from npuc.compiler.transforms.keep.patterns import SetKeepDepths
    from npuc.compiler.transforms.keep_resident.patterns import KeepInSpm, Residency
    from npuc.compiler.transforms.lower_tiles.patterns import ContractToTiles, ForgetResidency, InterleaveToStreams
    from npuc.compiler.transforms.lower_to_npu.patterns import (
        LowerByLayer,
        LowerConstant,
        LowerConvByIm2col,
        LowerMove,
        LowerVector,
        LowerView,
        StartFromAddition,
        UseKnownSums,
    )
    from npuc.compiler.transforms.map.patterns import MapByName
    from npuc.compiler.transforms.parallelize.patterns import MergeSlices, PlaceDropout, PlaceRows, SplitBatchNorm
    from npuc.compiler.transforms.partition.patterns import CutOverCores, CutOverTime
    from npuc.compiler.transforms.quantize.patterns import QuantizeOperands
    from npuc.compiler.transforms.rearrange.patterns import OneNest, PermuteLoops
    from npuc.compiler.transforms.recompute.patterns import RunAgain
    from npuc.compiler.transforms.schedule.patterns import JointSchedule, SetJointSchedule, SetSchedule
    from npuc.compiler.transforms.set_precision.patterns import SetFloatType
    from npuc.compiler.transforms.tile.patterns import Tile

_HOMES = {
    "AddGradientNoise": "gradient_noise",
    "CastThere": "canonicalize",
    "ContractByGemm": "contraction_form",
    "ContractToTiles": "lower_tiles",
    "CutOverCores": "partition",
    "CutOverTime": "partition",
    "DecomposeOperation": "decompose",
    "Epilogue": "fuse_vector",
    "EqualOperands": "canonicalize",
    "FoldTranspositions": "contraction_form",
    "Folded": "canonicalize",
    "ForgetResidency": "lower_tiles",
    "FuseContractions": "interleave",
    "FuseEpilogue": "fuse_vector",
    "InterleaveToStreams": "lower_tiles",
    "JointSchedule": "schedule",
    "KeepInSpm": "keep_resident",
    "LowerByLayer": "lower_to_npu",
    "LowerConstant": "lower_to_npu",
    "LowerConvByIm2col": "lower_to_npu",
    "LowerMove": "lower_to_npu",
    "LowerVector": "lower_to_npu",
    "LowerView": "lower_to_npu",
    "MapByName": "map",
    "MergeSlices": "parallelize",
    "NeutralParameters": "canonicalize",
    "OneNest": "rearrange",
    "PartsOfWhole": "canonicalize",
    "PermuteLoops": "rearrange",
    "PlaceDropout": "parallelize",
    "PlaceRows": "parallelize",
    "QuantizeOperands": "quantize",
    "Repeated": "canonicalize",
    "Residency": "keep_resident",
    "RoundRobin": "interleave",
    "RunAgain": "recompute",
    "SameShape": "canonicalize",
    "SetFloatType": "set_precision",
    "SetJointSchedule": "schedule",
    "SetKeepDepths": "keep",
    "SetSchedule": "schedule",
    "SplitBatchNorm": "parallelize",
    "StartFromAddition": "lower_to_npu",
    "StreamInnermost": "group_weights",
    "Tile": "tile",
    "TwoShapes": "canonicalize",
    "Undone": "canonicalize",
    "UseKnownSums": "lower_to_npu",
    "gradients": "interleave",
    "siblings": "interleave",
}

__all__ = [
    "AddGradientNoise",
    "CastThere",
    "ContractByGemm",
    "ContractToTiles",
    "CutOverCores",
    "CutOverTime",
    "DecomposeOperation",
    "Epilogue",
    "EqualOperands",
    "FoldTranspositions",
    "Folded",
    "ForgetResidency",
    "FuseContractions",
    "FuseEpilogue",
    "InterleaveToStreams",
    "JointSchedule",
    "KeepInSpm",
    "LowerByLayer",
    "LowerConstant",
    "LowerConvByIm2col",
    "LowerMove",
    "LowerVector",
    "LowerView",
    "MapByName",
    "MergeSlices",
    "NeutralParameters",
    "OneNest",
    "PartsOfWhole",
    "PermuteLoops",
    "PlaceDropout",
    "PlaceRows",
    "QuantizeOperands",
    "Repeated",
    "Residency",
    "RoundRobin",
    "RunAgain",
    "SameShape",
    "SetFloatType",
    "SetJointSchedule",
    "SetKeepDepths",
    "SetSchedule",
    "SplitBatchNorm",
    "StartFromAddition",
    "StreamInnermost",
    "Tile",
    "TwoShapes",
    "Undone",
    "UseKnownSums",
    "gradients",
    "siblings",
]


def __getattr__(name: str) -> object:
    """Load a pattern from the pass that it belongs to."""
    if name not in _HOMES:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    found: object = getattr(import_module(f"npuc.compiler.transforms.{_HOMES[name]}.patterns"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return list(__all__)
