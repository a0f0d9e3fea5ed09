"""
What a cost backend is, and how backends are found.

A backend scores a program at one level of the IR on one hardware. npuc's own are the packages beside this file with a
`BACKEND`, under their folder's name; others are published by any installed distribution through the entry point group
`npuc.backends`:

    [project.entry-points."npuc.backends"]
    mine = "my_package:MyBackend"          # a class, or a function without arguments that returns a backend
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from inspect import cleandoc
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, Protocol, cast, get_args

from npuc.compiler.core.errors import NpucError, SourceError, UsageError, did_you_mean
from npuc.compiler.core.foreign import Foreign, summary

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.ir import Operation

    from npuc.compiler.report import Report
    from npuc.hardware import Hardware

Level = Literal["train", "npu"]
LEVELS = get_args(Level)

ENTRY_POINTS = "npuc.backends"
DEFAULT = "cycle"
DEFAULT_HARDWARE = "igo-large"


class Backend(Protocol):
    """
    A cost model.

    `name` is what `--backend` takes. `level` is the IR that `score` expects: `train` (the graph of layers) or `npu`
    (contractions with schedules, vector and move work); the driver lowers no further than that. A backend may also
    have a `default_hardware: str`, the preset that is taken when nobody names one, and a method
    `needs_schedules(hardware) -> bool` where it scores contractions without schedules on some machines, a method
    `forecast(module, hardware) -> str | None` that says what is to be told before a score that takes more than seconds,
    and a method `score_many(module, machines: Sequence[Hardware]) -> Iterator[Report | NpucError]` where the reports of
    one program on many machines cost less together: they come in the order of the machines, each as soon as it is
    known, with the error that `score` would raise in the place of a report.
    `derives_backward: bool` says that it wants the forward graph of a training step and derives the rest by itself.
    `settings: Mapping[str, Mapping[str, str]]` are keys of the hardware by format of the source, which hold where the
    description does not write them; under "" for all other formats. `mapping_pass(hardware, name: str | None) -> str`
    is the pass that gives contractions without a mapping one, that of a name where one is asked for.
    """

    name: str
    level: Level

    def supports(self, op: Operation) -> str | None:
        """None when `op` can be scored, else the reason why not, as a sentence without its subject."""
        ...

    def score(self, module: ModuleOp, hardware: Hardware) -> Report:
        """
        What `module` costs: a report made by `npuc.compiler.report.make_report`.

        Every op of the module is supported. Raises `UsageError` for a hardware key that is missing
        (`hardware.require` does) and `CapacityError` for a program that does not fit. The module must not be changed.
        """
        ...


@dataclass
class _Outside:
    """A backend that is not npuc's: what it raises is reported as its own, not as a defect of npuc."""

    backend: Backend
    name: str
    level: Level
    default_hardware: str
    derives_backward: bool
    settings: Mapping[str, Mapping[str, str]]

    def supports(self, op: Operation) -> str | None:
        """See `Backend`."""
        with self._blamed():
            return self.backend.supports(op)

    def score(self, module: ModuleOp, hardware: Hardware) -> Report:
        """See `Backend`."""
        from npuc.compiler.report import Report

        with self._blamed():
            found = cast(object, self.backend.score(module, hardware))
        if not isinstance(found, Report):
            raise SourceError(f"backend '{self.name}' returned {type(found).__name__}, expected a Report")
        return found

    def needs_schedules(self, hardware: Hardware) -> bool:
        """See `Backend`."""
        with self._blamed():
            return needs_schedules(self.backend, hardware)

    def forecast(self, module: ModuleOp, hardware: Hardware) -> str | None:
        """See `Backend`."""
        with self._blamed():
            return forecast(self.backend, module, hardware)

    def score_many(self, module: ModuleOp, machines: Sequence[Hardware]) -> Iterator[Report | NpucError]:
        """See `Backend`."""
        with self._blamed():
            yield from score_many(self.backend, module, machines)

    def mapping_pass(self, hardware: Hardware, name: str | None) -> str | None:
        """See `Backend`."""
        with self._blamed():
            return mapping_pass(self.backend, hardware, name)

    def _blamed(self) -> Foreign:
        return Foreign(lambda e: SourceError(f"backend '{self.name}' failed: {summary(e)}", hint="--debug shows where"))


def _load(name: str, path: str) -> Backend:
    module, _, attribute = path.partition(":")
    with Foreign(lambda e: UsageError(f"backend '{name}' cannot be loaded from {path}: {summary(e)}")):
        factory = cast("Callable[[], Backend]", getattr(import_module(module), attribute))
        backend = factory()
        level = backend.level
    if level not in LEVELS:
        raise UsageError(f"backend '{name}' scores level '{level}', expected {' or '.join(LEVELS)}")
    if built_in().get(name) == path:
        return backend
    own = cast("Mapping[str, Mapping[str, str]]", getattr(backend, "settings", {}))
    return _Outside(backend, name, level, default_hardware(backend), derives_backward(backend), own)


@cache
def built_in() -> Mapping[str, str]:
    """npuc's own backends: where each is."""
    import npuc.backends

    folders = (Path(folder) for folder in npuc.backends.__path__)
    found = sorted(file.parent.name for folder in folders for file in folder.glob("*/backend.py"))
    return MappingProxyType({name: f"npuc.backends.{name}:BACKEND" for name in found})


def _factory(name: str, path: str) -> Callable[[], Backend]:
    return lambda: _load(name, path)


def get_all_backends() -> dict[str, Callable[[], Backend]]:
    """All backends by name, sorted, as functions that import and make one; npuc's own win over others of a name."""
    from importlib.metadata import entry_points

    paths = {**{point.name: point.value for point in entry_points(group=ENTRY_POINTS)}, **built_in()}
    return {name: _factory(name, path) for name, path in sorted(paths.items())}


def get_backend(name: str) -> Backend:
    """The backend of that name. Raises `UsageError` with the nearest known name."""
    own = built_in()
    if name in own:  # then there is no need to look at what is installed
        return _load(name, own[name])
    backends = get_all_backends()
    if name not in backends:
        raise UsageError(f"unknown backend '{name}'", hint=did_you_mean(name, list(backends)))
    return backends[name]()


def about(backend: Backend) -> str:
    """The first line of a backend's documentation."""
    kind = type(backend.backend if isinstance(backend, _Outside) else backend)
    return cleandoc(kind.__doc__ or "").partition("\n")[0]


def needs_schedules(backend: Backend, hardware: Hardware) -> bool:
    """Whether a backend of level `npu` wants schedules on the contractions that it scores on `hardware`."""
    asked = cast("Callable[[Hardware], bool] | None", getattr(backend, "needs_schedules", None))
    return True if asked is None else asked(hardware)


def forecast(backend: Backend, module: ModuleOp, hardware: Hardware) -> str | None:
    """What is to be told before a score that takes more than seconds."""
    asked = cast("Callable[[ModuleOp, Hardware], str | None] | None", getattr(backend, "forecast", None))
    return None if asked is None else asked(module, hardware)


def score_many(backend: Backend, module: ModuleOp, machines: Sequence[Hardware]) -> Iterator[Report | NpucError]:
    """
    The reports of one program on many machines, in their order, each as soon as it is known.

    What `score` raises for a machine comes in the place of its report. A backend without `score_many` scores one
    machine after another.
    """
    from npuc.compiler.report import Report

    asked = cast("_ScoreMany | None", getattr(backend, "score_many", None))
    each = (_score_or_error(backend, module, machine) for machine in machines)
    count = 0
    for found in cast("Iterable[object]", each if asked is None else asked(module, machines)):
        count += 1
        if not isinstance(found, Report | NpucError):
            raise SourceError(f"backend '{backend.name}' returned {type(found).__name__}, expected a Report")
        if count <= len(machines):
            yield found
    if count != len(machines):
        raise SourceError(f"backend '{backend.name}' returned {count} reports of {len(machines)} machines")


_ScoreMany = Callable[["ModuleOp", "Sequence[Hardware]"], "Iterator[Report | NpucError]"]


def _score_or_error(backend: Backend, module: ModuleOp, machine: Hardware) -> Report | NpucError:
    try:
        return backend.score(module, machine)
    except NpucError as error:
        return error


def derives_backward(backend: Backend) -> bool:
    """Whether a backend wants a forward graph, from which it derives the training step itself."""
    return bool(getattr(backend, "derives_backward", False))


def mapping_pass(backend: Backend, hardware: Hardware, name: str | None) -> str | None:
    """The pass that gives contractions a mapping for a backend, of a name if there is one; None where none is used."""
    asked = cast("Callable[[Hardware, str | None], str | None] | None", getattr(backend, "mapping_pass", None))
    return None if asked is None else asked(hardware, name)


def settings_for(backend: Backend, format: str) -> Mapping[str, str]:
    """Keys of the hardware that a backend has for sources of a format, where the description does not write them."""
    known = cast("Mapping[str, Mapping[str, str]]", getattr(backend, "settings", {}))
    return known.get(format, known.get("", {}))


def default_hardware(backend: Backend) -> str:
    """The preset a backend is scored on when nobody names one."""
    return str(getattr(backend, "default_hardware", DEFAULT_HARDWARE))
