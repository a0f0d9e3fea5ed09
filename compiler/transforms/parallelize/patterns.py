"""
The patterns of this pass: rewrites of the forward function after which it can be shared.

Which parts of a tensor a device has follows from the whole plan: `partition_spmd` writes the function anew.
"""

from npuc.compiler.transforms.named_pattern import NamedPattern
from npuc.compiler.transforms.parallelize.merge_slices import MergeSlices
from npuc.compiler.transforms.parallelize.place_rows import PlaceRows
from npuc.compiler.transforms.parallelize.split_norms import PlaceDropout, SplitBatchNorm

PATTERNS: tuple[type[NamedPattern], ...] = (SplitBatchNorm, PlaceDropout, PlaceRows, MergeSlices)
