"""
Export to SCALE-Sim: a program and a machine as topology and configuration files, a report as its report files.

    run: python -m scalesim.scale -t topology.csv -c scalesim.cfg -l layout.csv [-i gemm]

Each row is one product: repetitions and batches of products are not written out. The numbers in the report files are
those of `native`, in the columns of SCALE-Sim.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp

from npuc.backends.cycle.products import product_of
from npuc.backends.cycle.scalesim import Layer, Sparsity
from npuc.compiler.analysis.nest.fusion import single_statement
from npuc.compiler.core.errors import UsageError
from npuc.compiler.report import OpRow, Report
from npuc.dialects.npu import ContractOp
from npuc.dialects.provenance import Role, layer_of, repeat_of, role_of, sparsity_of
from npuc.hardware import Hardware

_GEMM = "Layer, M, N, K,"
_CONV = "Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, Num Filter, Strides,"
_OPERANDS = ("ifmap", "filter", "ofmap")
DEFAULT_KB = 64


@dataclass
class Export:
    """The content of files by name, and remarks for the user."""

    files: dict[str, str]
    warnings: list[str] = field(default_factory=list[str])


def topology_files(module: ModuleOp, hardware: Hardware) -> Export:
    """
    The products of a module as a topology, and the machine as a configuration.

    Without convolutions it is a GEMM topology; otherwise all rows are convolutions, and a product is one with a
    1 x K filter on an M x K image, as in SCALE-Sim. Raises `UsageError` for a program without products.
    """
    products = [
        (op, number) for op in module.walk() if isinstance(op, ContractOp) for number in range(len(op.nest.statements))
    ]
    if not products:
        raise UsageError("the program has no product that SCALE-Sim could take")
    ops = [op for op, _ in products]
    pairs = [product_of(single_statement(op.nest, number), _sparsity(op)) for op, number in products]
    layers = [layer for _, layer in pairs]
    plain = all(_sizes(layer) is None for layer in layers)
    sparse = hardware.get("scalesim.sparsity", bool) is True
    lines = [_line(_name(*own), layer, plain, sparse) for own, layer in zip(products, layers, strict=True)]
    header = (_GEMM if plain else _CONV) + (" Sparsity," if sparse else "")
    export = Export(
        {
            "topology.csv": "\n".join([header, *lines]) + "\n",
            "scalesim.cfg": config_text(hardware, sparse),
            "layout.csv": "Layer name,\n",
        }
    )
    several = sum(repeat_of(op) * count > 1 for op, (count, _) in zip(ops, pairs, strict=True))
    if several:
        export.warnings.append(f"{several:,} rows stand for several equal products (count, batch, groups)")
    flat = sum(layer.image is not None and _sizes(layer) is None and layer.image.overlaps for layer in layers)
    if flat:
        export.warnings.append(
            f"{flat:,} convolutions of several images or with two strides are written as products: DRAM reads differ"
        )
    return export


def _sparsity(op: ContractOp) -> Sparsity | None:
    ratio = sparsity_of(op) if role_of(op) is Role.FORWARD else None
    return None if ratio is None else Sparsity(*ratio)


def _name(op: ContractOp, number: int) -> str:
    """The name of the row of a product. It has no `DP`, which would make SCALE-Sim split it by channels."""
    statements = op.nest.statements
    layers = layer_of(op).replace("DP", "Dp").split("+")
    name = layers[number] if len(layers) == len(statements) else "+".join(layers) or "layer"
    if len(statements) == 1:
        return name if role_of(op) is Role.FORWARD else f"{name}_{role_of(op).value}"
    out = statements[number].out
    kind = next((role.value for role in (Role.DX, Role.DW) if out.lower().startswith(role.value)), "")
    return f"{name}_{kind}" if kind else name


def _sizes(layer: Layer) -> tuple[int, ...] | None:
    """The cells of a convolution; None for a product, and for a convolution that a topology cannot express."""
    image = layer.image
    if image is None or image.images > 1:
        return None
    strides = {image.stride_h} if image.output_height > 1 else set[int]()
    strides |= {image.stride_w} if image.output_width > 1 else set[int]()
    if len(strides) > 1:
        return None
    sizes = (image.height, image.width, image.filter_height, image.filter_width, image.channels, layer.n)
    return (*sizes, *(strides or {1}))


def _line(name: str, layer: Layer, plain: bool, sparse: bool) -> str:
    if plain:
        cells: tuple[int, ...] = (layer.m, layer.n, layer.k)
    else:
        cells = _sizes(layer) or (layer.m, layer.k, 1, layer.k, 1, layer.n, 1)
    ratio = layer.sparsity or Sparsity(1, 1)
    return ", ".join([name, *map(str, cells), *([f"{ratio.kept}:{ratio.block}"] if sparse else [])]) + ","


def config_text(hardware: Hardware, sparse: bool) -> str:
    """A machine as a configuration in CALC mode. Missing SRAM sizes are a third of its SPM each, in whole kB."""
    spm = hardware.get("memory.spm_kib", float)
    third = DEFAULT_KB if spm is None else max(1, int(spm / 3))
    sizes = [hardware.get(f"scalesim.{operand}_sram_kb", int) or third for operand in _OPERANDS]
    dataflow = hardware.require("array.dataflow", str, backend="cycle")
    if dataflow not in ("os", "ws", "is"):
        raise UsageError(f"SCALE-Sim has no array.dataflow = '{dataflow}'", hint="--set array.dataflow=os, or ws or is")
    layout = (f"{operand}SRAMBank{key}" for operand in ("Ifmap", "Filter") for key in ("Bandwidth", "Num", "Port"))
    representation = hardware.get("scalesim.sparse_rep", str) or "ellpack_block"
    sections: dict[str, dict[str, object]] = {
        "general": {"run_name": hardware.name},
        "architecture_presets": {
            "ArrayHeight": hardware.require("array.rows", int, backend="cycle"),
            "ArrayWidth": hardware.require("array.cols", int, backend="cycle"),
            **{f"{operand.capitalize()}SramSzkB": size for operand, size in zip(_OPERANDS, sizes, strict=True)},
            **{"IfmapOffset": 0, "FilterOffset": 10_000_000, "OfmapOffset": 20_000_000},
            **{"Dataflow": dataflow, "Bandwidth": 10, "ReadRequestBuffer": 32, "WriteRequestBuffer": 32},
        },
        "layout": {
            **{"IfmapCustomLayout": False, "FilterCustomLayout": False},
            **{key: 10 if key.endswith("Bandwidth") else 1 for key in layout},
        },
        "sparsity": {
            **{"SparsitySupport": str(sparse).lower(), "SparseRep": representation},
            **{"OptimizedMapping": "false", "BlockSize": 4, "RandomNumberGeneratorSeed": 40},
        },
        "run_presets": {"InterfaceBandwidth": "CALC", "UseRamulatorTrace": False},
    }
    parts = (
        f"[{name}]\n" + "".join(f"{key} : {value}\n" for key, value in keys.items()) for name, keys in sections.items()
    )
    return "\n".join(parts)


COMPUTE = {
    "Total Cycles (incl. prefetch)": "total_cycles_incl_prefetch",
    "Total Cycles": "total_cycles",
    "Stall Cycles": "stall_cycles",
    "Overall Util %": "overall_util_pct",
    "Mapping Efficiency %": "mapping_efficiency_pct",
    "Compute Util %": "compute_util_pct",
}
_METADATA = "Avg FILTER Metadata SRAM BW"
_TITLES = {"ifmap": "IFMAP", "filter": "Filter", "ofmap": "OFMAP"}


def _bandwidths(sparse: bool) -> dict[str, str]:
    columns = {
        f"Avg {operand.upper()} {memory} BW": f"avg_{operand}_{memory.lower()}_bw"
        for memory in ("SRAM", "DRAM")
        for operand in _OPERANDS
    }
    if not sparse:
        return columns
    names = list(columns)
    return {name: columns.get(name, "") for name in (*names[:2], _METADATA, *names[2:])}


def _accesses() -> dict[str, str]:
    columns: dict[str, str] = {}
    for memory in ("SRAM", "DRAM"):
        for operand in _OPERANDS:
            name, verb = f"{memory} {_TITLES[operand]}", "Writes" if operand == "ofmap" else "Reads"
            key = f"{operand}_{memory.lower()}"
            columns |= {f"{name} Start Cycle": f"{key}_start", f"{name} Stop Cycle": f"{key}_stop"}
            columns[f"{name} {verb}"] = f"{key}_{verb.lower()}"
    return columns


SPARSE = {
    "Original Filter Storage": "filter_words_original",
    "New Storage (Filter+Metadata)": "filter_words_new",
    "Filter Metadata Storage": "filter_metadata_words",
    _METADATA: "",
}


def report_files(report: Report) -> dict[str, str]:
    """
    A report of the compatibility mode as the report files of SCALE-Sim, a row per product.

    Raises `UsageError` for a report that lacks SCALE-Sim's columns.
    """
    rows = [row for row in report.ops if row.kind == "matrix"]
    if not rows or any(row.native.get("total_cycles") is None for row in rows):
        hint = "--hw FILE.cfg, or --set cycle.compat=scalesim3, with scalesim.memory"
        raise UsageError("the report has not all columns of SCALE-Sim's reports", hint=hint)
    table = report.hardware.get("scalesim")
    table = table if isinstance(table, dict) else {}
    sparse = table.get("sparsity") is True
    files = {
        "COMPUTE_REPORT.csv": _csv(COMPUTE, rows),
        "BANDWIDTH_REPORT.csv": _csv(_bandwidths(sparse), rows),
        "DETAILED_ACCESS_REPORT.csv": _csv(_accesses(), rows),
    }
    if sparse:
        representation = str(table.get("sparse_rep", "ellpack_block"))
        files["SPARSE_REPORT.csv"] = _csv({"Sparsity Representation": representation, **SPARSE}, rows)
    return files


def _csv(columns: dict[str, str], rows: Iterable[OpRow]) -> str:
    lines = [", ".join(["LayerID", *columns]) + ","]
    for number, row in enumerate(rows):
        lines.append(", ".join([str(number), *_cells(columns, row)]) + ",")
    return "\n".join(lines) + "\n"


def _cells(columns: dict[str, str], row: OpRow) -> Iterator[str]:
    for title, key in columns.items():
        if title == "Sparsity Representation":
            yield key
        elif title == _METADATA:
            words, cycles = row.native.get("filter_metadata_words"), row.native["total_cycles"]
            if isinstance(words, int | float) and isinstance(cycles, int | float) and cycles > 0:
                yield str(words / cycles)
            else:
                yield ""
        else:
            value = row.native[key]
            yield "" if value is None else str(value)
