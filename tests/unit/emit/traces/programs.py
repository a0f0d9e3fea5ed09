"""Programs for one device and for many, and the traces that are written of them."""

import json
from collections.abc import Mapping
from functools import cache
from typing import Any, cast

from npuc.compiler.driver.compile import Compilation, compile_program
from npuc.compiler.emit.base import Compiled, Emitted, get_emitter
from npuc.compiler.report import OpRow
from npuc.frontends.source import open_source
from tests.chakra_traces import Trace, read_trace

TORUS: dict[str, object] = {
    "network.levels": [
        {"kind": "switch", "size": 4, "gb_per_s": 25.0, "latency_ns": 1700.0},
        {"kind": "ring", "size": 8, "gb_per_s": 200.0, "latency_ns": 500.0},
    ]
}
AT_ONCE: dict[str, object] = {
    "network.levels": [
        {"kind": "switch", "size": 4, "gb_per_s": 0.25},
        {"kind": "ring", "size": 8, "gb_per_s": 0.2},
    ]
}
PROGRAMS: dict[str, tuple[str, dict[str, Any]]] = {
    "one device": ("samples:mlp", {}),
    "a tree": ("samples:lenet_c", {"hardware": "hypar16", "devices": 16, "parallel": "joint"}),
    "two levels": ("samples:mlp", {"devices": 32, "mesh": "4x8", "overrides": TORUS, "parallel": "dp"}),
    "parts of a ring": ("samples:lenet_c", {"devices": 8, "overrides": TORUS, "parallel": "joint"}),
    "no network": ("samples:lenet_c", {"devices": 4, "parallel": "joint"}),
    "chunks": (
        "samples:mlp",
        {
            **{"devices": 32, "mesh": "4x8", "overrides": AT_ONCE, "parallel": "dp"},
            **{"collectives": "themis-scf", "chunks": 4},
        },
    ),
    "chunks that overlap": (
        "samples:mlp",
        {
            **{"devices": 32, "mesh": "4x8", "overrides": {**AT_ONCE, "network.latency": "overlap"}, "parallel": "dp"},
            **{"chunks": 4},
        },
    ),
    "stored in parts": ("samples:mlp", {"devices": 32, "mesh": "4x8", "overrides": TORUS, "parallel": "dp", "zero": 3}),
}


@cache
def compiled(name: str) -> Compilation:
    source, options = PROGRAMS[name]
    return compile_program(open_source(source), ["cycle"], cast(Any, {"opt_level": 0, **options}))


def emitted(result: Compilation, emitter: str = "chakra") -> Emitted:
    found = get_emitter(emitter).emit(Compiled(result.modules[0], result.machines[0], result.reports[0]))
    assert isinstance(found.content, Mapping)
    return found


def traces_of(result: Compilation) -> tuple[list[Trace], dict[str, list[int]]]:
    """The traces by device, and the communicator groups."""
    files = {**cast("Mapping[str, bytes]", emitted(result).content)}
    network = result.reports[0].network
    groups = json.loads(files.pop(f"{network}.comm_group.json", b"{}"))
    assert list(files) == [f"{network}.{device}.et" for device in range(len(files))]
    return [read_trace(data) for data in files.values()], groups


def exchange_rows(result: Compilation) -> list[OpRow]:
    return [row for row in result.reports[0].ops if row.phase == "comm"]
