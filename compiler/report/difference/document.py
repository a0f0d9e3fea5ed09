"""The difference of two reports, A and B, as frozen data: the JSON of `npuc diff`."""

from __future__ import annotations

from typing import Literal

import msgspec

from npuc.compiler.report.as_json import to_json
from npuc.compiler.report.rows import Define, Scalar

SCHEMA = "npuc.diff/1"
Found = Literal["both", "renamed", "only_a", "only_b"]
ReasonKind = Literal[
    "appeared",
    "disappeared",
    "model",
    "operation",
    "work",
    "recompute",
    "interleaving",
    "fusion",
    "residency",
    "traffic",
    "precision",
    "passes",
    "utilization",
    "peak",
    "bandwidth",
    "clock",
    "machine",
    "exchange",
    "stalls",
    "schedule",
    "limit",
    "energy",
    "phase",
]


class Amounts(msgspec.Struct, frozen=True, kw_only=True):
    """
    What rows cost together, repetitions included, or by how much that differs; null where a report does not say it.

    A difference is that of B from A: above 0 where B has more.
    """

    seconds: float | None = None
    """s"""
    cycles: int | float | None = None
    """cycles of the array's clock"""
    dram_read_bytes: int | None = None
    """bytes read from DRAM"""
    dram_write_bytes: int | None = None
    """bytes written to DRAM"""
    energy_j: float | None = None
    """J"""
    macs: int | None = None
    """multiply-accumulates"""
    vector_ops: int | None = None
    """elementary operations"""

    @property
    def dram_bytes(self) -> int | None:
        """Bytes between DRAM and the chip."""
        moved = self.dram_read_bytes, self.dram_write_bytes
        return None if moved == (None, None) else sum(one or 0 for one in moved)

    @property
    def is_nothing(self) -> bool:
        """Whether a difference has no amount but 0."""
        return not any(getattr(self, name) for name in self.__struct_fields__)


class DiffSide(Amounts, frozen=True, kw_only=True, omit_defaults=True):
    """What one report says of a layer or a part of it; what it does not say is left out."""

    rows: list[int]
    """the indices of its rows in the report"""
    utilization: float | None = None
    """share of the array's peak over its time, 0 to 1"""
    limit: str | None = None
    """the resource that sets most of its time"""
    spent: dict[str, float] = msgspec.field(default_factory=dict[str, float])
    """s by cause, the largest first"""
    shape: dict[str, int] | None = None
    """`batch`, `m`, `n` and `k` of its first forward product"""


class DiffReason(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that differs and that costs follow from: what kind of thing, its values, and both in words."""

    kind: ReasonKind
    """what kind of thing it is"""
    a: Scalar
    """its value in A, in the unit of the kind; null where A has none"""
    b: Scalar
    """its value in B"""
    text: str
    """a clause in words"""


class DiffPart(msgspec.Struct, frozen=True, kw_only=True):
    """
    A phase of a layer in both reports.

    The `phase` is `backward`, of dX and dW together, where the reports do not have the same of `dx`, `dw` and `dxdw`:
    with gradients that are interleaved in one of them alone.
    """

    phase: str
    """`forward`, `dx`, `dw`, `dxdw`, `update`, `comm`, or `backward`"""
    a: DiffSide | None
    """null where A has no such phase of the layer"""
    b: DiffSide | None
    """null where B has none"""
    difference: Amounts
    """B less A, in which what is not there counts as 0"""
    reasons: list[DiffReason]
    """why it differs, what explains most first; empty where nothing does"""


class DiffLayer(msgspec.Struct, frozen=True, kw_only=True):
    """A layer of either report; its updates are part of it."""

    name: str
    """its name in B; in A, where it is in A alone"""
    name_a: str | None
    """its name in A"""
    name_b: str | None
    """its name in B"""
    found: Found
    """`both` by name, `renamed`: by shape and place, or in one report alone"""
    a: DiffSide | None
    """what A says of it"""
    b: DiffSide | None
    """what B says of it"""
    difference: Amounts
    """B less A, in which what is not there counts as 0; these of all layers add up to that of the reports"""
    cause: str | None
    """of the causes of time the one whose share changed most, in the direction of the whole; null for equal times"""
    cause_seconds: float | None
    """s; by how much"""
    why: str
    """why it differs, in a clause; empty where nothing does"""
    parts: list[DiffPart]
    """its phases; empty where none differs"""


class DiffTotal(msgspec.Struct, frozen=True, kw_only=True):
    """A quantity of both steps as a whole."""

    name: str
    """what is compared"""
    unit: str
    """`s`, `B`, `J`, `cycles`, `share`, or nothing for counts"""
    a: int | float | None
    """its value in A; null where the report does not say it"""
    b: int | float | None
    """its value in B"""
    difference: int | float | None
    """B less A"""
    ratio: float | None
    """B over A; null where A is 0"""


class DiffSetting(msgspec.Struct, frozen=True, kw_only=True):
    """Something that was given to both compilations, and differs."""

    group: Literal["machine", "program", "passes", "devices", "model"]
    """what it is about"""
    name: str
    """a hardware key, or what it is"""
    a: str | None
    """its value in A as text; null where it has none"""
    b: str | None
    """its value in B"""


class DiffHead(msgspec.Struct, frozen=True, kw_only=True):
    """Which report a side is."""

    source: str
    """file or `samples:NAME`"""
    network: str
    """name of the network"""
    backend: str
    """name of the cost model"""
    machine: str
    """name of the machine"""
    precision: str
    """float types of the program"""
    pipeline: str
    """the passes that ran"""
    defines: dict[str, Define]
    """network parameters that were set"""
    npuc: str
    """version of npuc"""
    training: bool
    """false for a forward pass"""
    samples: int | None
    """samples that a step has, as the parameter `batch` or the backend says; null where neither does"""
    devices: int
    """devices that share the step; traffic, energy and operations are those of one of them"""
    layers: int
    """number of layers"""
    rows: int
    """number of rows"""
    spent: dict[str, float]
    """s of the step by cause, the largest first"""


class DifferenceData(msgspec.Struct, frozen=True, kw_only=True):
    """
    The difference of two reports.

    Layers are in the order of A's program, those of B alone behind the layer that they follow in B.
    """

    schema: str = SCHEMA
    """`npuc.diff/1`"""
    a: DiffHead
    """the first report"""
    b: DiffHead
    """the second report"""
    settings: list[DiffSetting]
    """what was given to the two compilations and differs, the machine first"""
    totals: list[DiffTotal]
    """both steps as a whole"""
    per_sample: list[DiffTotal]
    """time, traffic and energy of a sample, where the numbers of samples are known and differ; else empty"""
    difference: Amounts
    """B less A, as a whole"""
    verdict: str
    """the difference in a few sentences"""
    notes: list[str]
    """what has to be known of the two to compare them: other models, networks, numbers of samples"""
    layers: list[DiffLayer]
    """all layers of both reports"""

    def to_json(self) -> str:
        """The difference as JSON text, one layer per line; the same reports always give the same bytes."""
        return to_json(self)

    @property
    def is_empty(self) -> bool:
        """Whether nothing differs."""
        return not self.settings and not any(layer.why for layer in self.layers)

    def total(self, name: str) -> DiffTotal:
        """A quantity by its name. Raises `KeyError` for one that there is none of."""
        for one in self.totals:
            if one.name == name:
                return one
        raise KeyError(name)
