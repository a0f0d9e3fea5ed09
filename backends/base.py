"""
The interface of a cost backend, which costs a program at one level of the IR on one machine.

    class MyBackend(Backend):
        \"\"\"Each operation at the array's peak.\"\"\"

        name = "mine"
        level = "train"

        def supports(self, op): ...
        def score(self, module, hardware): ...

`npuc.backends.registry` finds them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, get_args

from npuc.backends.knobs import Knob
from npuc.compiler.core.errors import NpucError
from npuc.compiler.core.frozen import frozen
from npuc.compiler.report.causes import Parts, parts_by_limit
from npuc.compiler.report.energy import COMPONENTS
from npuc.compiler.report.text.words import Words

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.ir import Operation

    from npuc.compiler.core.kinds import Key
    from npuc.compiler.report import OpRow, Report
    from npuc.hardware import Hardware

Level = Literal["train", "npu"]
LEVELS = get_args(Level)

DEFAULT = "cycle"
DEFAULT_HARDWARE = "igo-large"


@frozen
class Question:
    """
    What `npuc explain LAYER` asks a backend: why these `rows`, those of one layer, cost what they do.

    `module`, `hardware` and `report` are the program that was scored. `phase` is the one that was asked for (None:
    all). `others` compiles the source again: from the text of a pipeline to a report of this layer alone; None for a
    source in IR, whose passes have run. `objective` is what schedules minimise.
    """

    layer: str
    phase: str | None
    rows: Sequence[OpRow]
    module: ModuleOp
    hardware: Hardware
    report: Report
    objective: str
    others: Callable[[str], Report] | None


@frozen
class Answer:
    """
    An explanation: as text for so many columns, and as a picture, if there is one: a file of a kind (`svg`, `png`,
    `pdf`) that shows one of the backend's `views`.
    """

    text: Callable[[int], str]
    picture: Callable[[str, str], bytes] | None = None


@frozen
class MachineView:
    """
    What a machine is to a model, the whole chip: operations a second, of which a MAC is `ops_per_mac`, MACs a cycle,
    bytes a second and a cycle between the chip and its memory, and the bytes on the chip that `memory` names.

    None is what the model does not know of it.
    """

    operations: float | None
    ops_per_mac: int
    bytes_per_second: float | None
    memory_bytes: int | None
    memory: str
    macs_per_cycle: int | None = None
    bytes_per_cycle: float | None = None

    @property
    def ridge(self) -> float | None:
        """The operations a byte from which on the peak limits, and not the bandwidth."""
        if self.operations is None or self.bytes_per_second is None:
            return None
        return self.operations / self.bytes_per_second


@frozen
class Variant:
    """A machine, and what writes the mappings for it into a module."""

    hardware: Hardware
    write: Callable[[], None]


class Backend(ABC):
    """
    A cost model.

    `name` is what `--backend` takes. `level` is the IR that `score` expects: `train` (the graph of layers) or `npu`
    (contractions with schedules, vector and move work); the driver lowers no further than that. `default_hardware` is
    the preset that is taken when nobody names one. `derives_backward` says that it wants the forward graph of a
    training step and derives the rest by itself. `keys` are keys of the hardware that are its own. `settings` are keys
    of the hardware by format of the source, which hold where the description does not write them; under "" for all
    other formats. `words` is what reports for people say of its model; `views` are the pictures of a layer that its
    explanations have, the usual one first. `beside_totals` are keys of the hardware that change no total of a report,
    only what stands beside them. `knobs` are changes that may help. `energy_parts` are the components that the energy
    of its rows is of: what is neither MACs, vector work nor DRAM is that of the others. `has_groups` says that
    it scores groups of layers that run by micro-batches.
    """

    name: str
    level: Level
    default_hardware: str = DEFAULT_HARDWARE
    derives_backward: bool = False
    keys: Sequence[Key] = ()
    settings: Mapping[str, Mapping[str, str]] = {}
    words: Words = Words()
    views: Sequence[str] = ()
    beside_totals: Sequence[str] = ()
    knobs: Sequence[Knob] = ()
    energy_parts: Sequence[str] = COMPONENTS
    has_groups: bool = False

    @property
    def explains(self) -> bool:
        """Whether it has more to say of a layer than its rows."""
        return type(self).explain is not Backend.explain

    @abstractmethod
    def supports(self, op: Operation) -> str | None:
        """None when `op` can be scored, else the reason why not, as a sentence without its subject."""

    @abstractmethod
    def score(self, module: ModuleOp, hardware: Hardware) -> Report:
        """
        What `module` costs: a report made by `npuc.compiler.report.make_report`.

        Every op of the module is supported. Raises `UsageError` for a hardware key that is missing
        (`hardware.require` does) and `CapacityError` for a program that does not fit. The module must not be changed.
        """

    def costs(self, module: ModuleOp, hardware: Hardware) -> Report:
        """
        What `score` says, where only times, traffic and energies are asked for, as of many points of a sweep.

        For models that take long over what else a report has.
        """
        return self.score(module, hardware)

    def score_many(self, module: ModuleOp, machines: Sequence[Hardware]) -> Iterator[Report | NpucError]:
        """
        The reports of one program on many machines, in their order, each as soon as it is known.

        What `score` raises for a machine comes in the place of its report. For models where many cost less together.
        """
        for machine in machines:
            try:
                yield self.score(module, machine)
            except NpucError as error:
                yield error

    def scorer(self, module: ModuleOp) -> Callable[[Sequence[Hardware]], Iterator[Report | NpucError]]:
        """`score_many` of a program that is scored in several calls, which may keep what they share."""
        return partial(self.score_many, module)

    def costs_of_variants(self, module: ModuleOp, variants: Sequence[Variant]) -> list[Report]:
        """
        What `costs` says of one program on several machines, each with mappings that its variant writes. Raises as
        `score` of any of them.

        For models where many cost less together; names and places of rows need not be told.
        """
        reports: list[Report] = []
        for one in variants:
            one.write()
            reports.append(self.costs(module, one.hardware))
        return reports

    def adds_up(self, hardware: Hardware) -> bool:
        """
        Whether what a program costs on a machine is what its operations cost, each whatever others are beside it: then
        `costs_of_classes` may be asked for those that `costed` names.
        """
        return False

    def costed(self, module: ModuleOp) -> Sequence[Operation] | None:
        """The operations of a program that cost something; None where some depend on others on any machine."""
        return None

    def costs_of_classes(self, ops: Sequence[Operation], counts: Sequence[int], hardware: Hardware) -> Report:
        """
        What `costs` says of a program that has each of some operations so many times: totals and warnings. Rows need
        not differ in names and places. Raises as `costs`.
        """
        raise NotImplementedError(f"'{self.name}' names no operations whose costs add up")

    def needs_schedules(self, hardware: Hardware) -> bool:
        """Whether a backend of level `npu` wants schedules on the contractions that it scores on `hardware`."""
        return True

    def costs_alone(self, hardware: Hardware) -> bool:
        """Whether the seconds of an operation depend on nothing else in the program, on this machine."""
        return False

    def least_seconds(
        self, module: ModuleOp, hardware: Hardware, *, together: bool = False
    ) -> Mapping[str, Sequence[float]] | None:
        """
        Of each layer of a program at the level `npu` lower bounds of the seconds of its rows, whichever schedules its
        contractions get; None where the model knows of none. Where `costs_alone` is true, for plans that minimise time.

        `together`: dX and dW of one product may run together later, so that both take at least what the layer has.
        """
        return None

    def lowered(self) -> Backend | None:
        """
        The model that takes the place of a backend of level `train` where a program is lowered for others or by `-p`;
        None where there is none. It has the same name.
        """
        return None

    def check(self, hardware: Hardware) -> None:
        """Raise `UsageError` for keys that the backend misses, before anything is compiled for several."""
        del hardware

    def machine_view(self, hardware: Hardware) -> MachineView | None:
        """
        What the machine is to the model: its peak and its bandwidth; None where it does not say.

        Raises `UsageError` for keys that are missing.
        """
        return None

    def without_effect(self, hardware: Hardware) -> Mapping[str, str]:
        """Keys that it reads and that change nothing on this machine, each with the reason."""
        return {}

    def forecast(self, module: ModuleOp, hardware: Hardware) -> str | None:
        """A notice to print before a score that takes more than seconds; None without one."""
        return None

    def mapping_pass(self, hardware: Hardware, name: str | None) -> str | None:
        """
        The pass that maps contractions without a mapping, by the dataflow `name` or the machine's; None without
        mappings.
        """
        return None

    def time_parts(self, row: OpRow) -> Parts:
        """The seconds of one of a row's repetitions by cause."""
        return parts_by_limit(row)

    def explained_rows(self, report: Report) -> list[OpRow]:
        """The rows that can be explained."""
        return [row for row in report.ops if row.kind != "comm"]

    def explain(self, question: Question) -> Answer | None:
        """The explanation of a layer's cost; None where the model has nothing to add to its rows."""
        return None

    def settings_for(self, format: str) -> Mapping[str, str]:
        """Keys of the hardware for sources of a format, where the description does not write them."""
        return self.settings.get(format, self.settings.get("", {}))


ABILITIES: tuple[str, ...] = (
    "score_many",
    "needs_schedules",
    "lowered",
    "check",
    "machine_view",
    "without_effect",
    "forecast",
    "mapping_pass",
    "time_parts",
    "explained_rows",
    "explain",
)
"""The methods that a backend may leave out."""
FACTS: dict[str, Any] = {
    "default_hardware": DEFAULT_HARDWARE,
    "derives_backward": False,
    "keys": (),
    "settings": {},
    "words": Words(),
    "views": (),
    "beside_totals": (),
    "knobs": (),
    "energy_parts": COMPONENTS,
}
"""What a backend may leave unsaid, with what then holds."""
