"""
Sections of `native`: data of a row or report that only some backends have, as typed fields instead of named keys.

A backend fills a section and writes its columns into `native`; a renderer finds it there again, also in a report that
was read back from JSON. The keys of `native` are the names of the fields, in their order:

    OpRow(..., native=columns(UnmovedFacts(not_moved_bytes=512), None))
    facts = UnmovedFacts.found_in(row)  # None for a row without them

A field that has a default is optional, and is not written where it has its default. Sections may share a field that
means the same in both. Bytes are whole bytes and cycles those of the array's clock, of one of a row's repetitions.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Literal, Protocol, Self

import msgspec

Columns = dict[str, Any]
"""Keys and values of `native`: of a row scalars and lists of them, of a report scalars."""


class HasNative(Protocol):
    """A row or a report."""

    @property
    def native(self) -> Mapping[str, object]: ...


class Section(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Base of all sections; a backend may define its own."""

    def columns(self) -> Columns:
        """The fields as columns of `native`."""
        return msgspec.to_builtins(self)

    @classmethod
    def found_in(cls, whole: HasNative) -> Self | None:
        """The section of a row or report; None where a field without a default is missing or a type does not fit."""
        if not _required(cls) <= whole.native.keys():
            return None
        try:
            return msgspec.convert(whole.native, cls)
        except msgspec.ValidationError:
            return None


@cache
def _required(section: type[Section]) -> frozenset[str]:
    return frozenset(field.name for field in msgspec.structs.fields(section) if field.required)


def columns(*sections: Section | None) -> Columns:
    """The columns of several sections, in their order; None is one that a row does not have."""
    found: Columns = {}
    for section in sections:
        if section is not None:
            found |= section.columns()
    return found


class TransferFacts(Section, frozen=True):
    """
    What an operation takes of the DRAM channel, in cycles, and of the SPM, in bytes.

    `first_load_bytes` is what has to be there before any work can begin. A product's SPM traffic is told apart by
    direction; that of work that streams is `spm_bytes_moved`.
    """

    transfer_cycles: int
    first_load_bytes: int | None = None
    spm_read_bytes: int | None = None
    spm_write_bytes: int | None = None
    spm_bytes_moved: int | None = None


class EdgeFacts(Section, frozen=True):
    """Groups of folds on one stationary tile, of all cores, and the waiting cycles of the busiest core's groups."""

    groups: int
    edge_cycles: int


class CoreFacts(Section, frozen=True):
    """
    The work of each of the `cores` in use; lists have one entry per core.

    `load_balance` is the work of all arrays over that of the busiest one on every core of the chip.
    """

    cores: int
    load_balance: float
    core_cycles: list[int]
    core_compute_cycles: list[int]
    core_read_bytes: list[int]
    core_write_bytes: list[int]
    core_edge_cycles: list[int] | None = None


class FusedFacts(Section, frozen=True):
    """Vector work `fused` into a product's output blocks; its cost if run alone, in cycles and bytes of DRAM."""

    fused: str
    vector_cycles: int
    transfer_cycles: int
    spm_bytes_moved: int
    alone_cycles: int
    alone_bytes: int


class InterleavingFacts(Section, frozen=True):
    """
    Contractions that run together: their cycles and bytes of DRAM, and those of the sequential program, which runs
    them one after another, each at the fastest schedule that a search as thorough as the program's own finds; both
    without vector work and residency. `saving_is_bound`: those schedules were searched quickly, so that what is saved
    in time may be less than the difference.
    """

    together_cycles: int
    together_bytes: int
    sequential_cycles: int
    sequential_bytes: int
    saving_is_bound: bool


class UnstoredFacts(Section, frozen=True):
    """A product whose output fused work uses: what it need not write, and its cycles if it wrote that."""

    not_stored_bytes: int
    storing_cycles: int


class PassFacts(Section, frozen=True):
    """The passes of a product through a multiplier, of each statement, and of all MACs (`array.mantissa_bits`)."""

    product_passes: list[int]
    mac_passes: int


class UnmovedFacts(Section, frozen=True):
    """The additional traffic of the same schedule if nothing were resident in the SPM."""

    not_moved_bytes: int


class ResidencyFacts(Section, frozen=True):
    """Tensors in the SPM before and after an operation; `passing_bytes` are those of values of other operations."""

    passing_bytes: int
    resident_in: list[str] | None = None
    resident_out: list[str] | None = None

    @property
    def is_resident(self) -> bool:
        """Whether the operation itself finds or leaves a tensor in the SPM."""
        return self.resident_in is not None or self.resident_out is not None


class RefreshFacts(Section, frozen=True):
    """Of dynamic cells: the bytes of an operation that are refreshed, the J of that, what is held longest, how long."""

    refreshed_bytes: int
    refresh_j: float | None
    held_seconds: float
    held: str


class RecomputeFacts(Section, frozen=True):
    """Forward work that runs a second time, in the backward pass."""

    recompute: bool


class ExchangeFacts(Section, frozen=True):
    """
    What devices exchange: for work of which role (`of`), a device's operand, what it sends, over which mesh levels.

    `sent_bytes` is None where the hardware describes no network. `after` is the index of the row of work that the
    exchange follows; it is missing where none comes before.
    """

    of: str
    operand_bytes: int
    sent_bytes: float | None
    levels: str
    after: int | None = None


class ExchangeStages(Section, frozen=True):
    """
    The stages of an exchange, one after another: the level of the network, 0 the outermost, and the seconds.

    In chunks these are the times in which levels work, and `stage_begins` says when each begins, in seconds.
    """

    stage_levels: list[int]
    stage_seconds: list[float]
    stage_begins: list[float] | None = None


class ExchangeChunks(Section, frozen=True):
    """Of a collective in chunks: their number, and the seconds that no order of them is below."""

    chunks: int
    bound_seconds: float


class BucketFacts(Section, frozen=True):
    """Of sums of gradients that are one collective: the number of their bucket, and how many they are."""

    bucket: int
    bucket_sums: int


class BeginFacts(Section, frozen=True):
    """Of a row of a step that runs movements beside work: when it begins, in seconds of the step."""

    begin_seconds: float


class OverlapFacts(Section, frozen=True):
    """
    Of an exchange beside work, in seconds of the step: when all is there that it needs, when its first stage begins,
    and when its result is there; `alone_seconds` is what it takes on an empty network.

    The row's own seconds are the exposed ones, in which a device waits for it and does nothing else.
    """

    ready_seconds: float
    begin_seconds: float
    end_seconds: float
    alone_seconds: float


class OverlapTime(Section, frozen=True):
    """
    Of a report: the seconds in which devices wait for each other and do nothing, what no order of the same movements on
    the network exposes less than, and the step if each gradient were summed alone, whole, and nothing ran beside it.
    """

    exposed_seconds: float
    exposed_bound_seconds: float
    unbucketed_seconds: float


class ProgramFacts(Section, frozen=True):
    """Of a report: whether its iteration was made of the forward graph or of the lowered program."""

    program: Literal["forward", "lowered"]


class IterationFacts(Section, frozen=True):
    """Of a report: an iteration as a whole, under a plan of the cache of `plan_mib` MiB."""

    ops: int
    average_gb_per_s: float
    active_time: float
    samples_per_second: float
    plan_mib: float
    peak_bytes: int
    largest_footprint_bytes: int
    streamed_steps: int
    ridge_ops_per_byte: float


class RateFacts(Section, frozen=True):
    """Of a report: the samples per second that an iteration trains."""

    samples_per_second: float


class NearnessFacts(Section, frozen=True):
    """Of a report: lower bounds of traffic and time over all plans of the cache, and this plan's ratios to them."""

    traffic_bound_bytes: int
    traffic_bound_exact: bool
    traffic_ratio: float
    tile_bound_bytes: int
    time_bound_seconds: float
    time_ratio: float


class CommunicationTime(Section, frozen=True):
    """
    Of a report: the time between devices, and that of a step whose gradients are summed beside other work.

    The latter is None where it is not known.
    """

    comm_seconds: float
    overlapped_seconds: float | None


class CommunicationBytes(Section, frozen=True):
    """Of a report: what a device hands in and reads of others for sums of weights' gradients, and for all else."""

    gradient_operand_bytes: int
    gradient_read_bytes: int | float
    other_operand_bytes: int
    other_read_bytes: int | float


def has_residents(row: HasNative) -> bool:
    """Whether a row finds in SPM values of other operations, or leaves values there for them."""
    resident = ResidencyFacts.found_in(row)
    return (resident is not None and resident.is_resident) or FusedFacts.found_in(row) is not None
