"""The `dist` dialect: a mesh of devices, shardings of values over it, and collective operations."""

from xdsl.ir import Dialect

from npuc.dialects.distributed.base import BUCKET, DistOp, bucket_of, chunks_of, levels_of, on_mesh, routes_of
from npuc.dialects.distributed.buckets import Buckets, bucket_problems, buckets_of, moved_by
from npuc.dialects.distributed.chunks import CHUNKS, Chunks, ChunksAttr, Route
from npuc.dialects.distributed.collective import AllGatherOp, AllReduceOp, AllToAllOp, ReduceScatterOp, SendReceiveOp
from npuc.dialects.distributed.mesh import MESH, Mesh, MeshAttr, mesh_around, mesh_of
from npuc.dialects.distributed.resharding import AddendOp, CopyOp, OnceOp, PlaceOp, SliceOp
from npuc.dialects.distributed.sharding import SHARDING, Sharding, ShardingAttr
from npuc.dialects.distributed.signature import (
    argument_sharding,
    argument_shardings,
    global_type,
    result_sharding,
    result_shardings,
    sharding_problems,
)

__all__ = [
    "BUCKET",
    "CHUNKS",
    "DIST",
    "MESH",
    "OPERATIONS",
    "SHARDING",
    "AddendOp",
    "AllGatherOp",
    "AllReduceOp",
    "AllToAllOp",
    "Buckets",
    "Chunks",
    "ChunksAttr",
    "CopyOp",
    "DistOp",
    "Mesh",
    "MeshAttr",
    "OnceOp",
    "PlaceOp",
    "ReduceScatterOp",
    "Route",
    "SendReceiveOp",
    "Sharding",
    "ShardingAttr",
    "SliceOp",
    "argument_sharding",
    "argument_shardings",
    "bucket_of",
    "bucket_problems",
    "buckets_of",
    "chunks_of",
    "global_type",
    "levels_of",
    "mesh_around",
    "mesh_of",
    "moved_by",
    "on_mesh",
    "result_sharding",
    "result_shardings",
    "routes_of",
    "sharding_problems",
]

OPERATIONS: tuple[type[DistOp], ...] = (
    SliceOp,
    AllGatherOp,
    AllToAllOp,
    AllReduceOp,
    ReduceScatterOp,
    CopyOp,
    OnceOp,
    AddendOp,
    PlaceOp,
    SendReceiveOp,
)

DIST = Dialect("dist", [*OPERATIONS], [ChunksAttr, MeshAttr, ShardingAttr])
