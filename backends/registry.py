"""
The registry of backends.

npuc's own are the instances `BACKEND` in the `backend.py` of the packages beside this file, under their folder's name;
others are published by any installed distribution through the entry point group `npuc.backends`:

    [project.entry-points."npuc.backends"]
    mine = "my_package:MyBackend"          # a class, a function without arguments that returns a backend, or a backend
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache, partial
from importlib import import_module
from inspect import cleandoc
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, cast

from npuc.backends.base import ABILITIES, FACTS, LEVELS, Answer, Backend, MachineView, Question
from npuc.compiler.core.errors import NpucError, SourceError, UsageError, did_you_mean
from npuc.compiler.core.foreign import Foreign, summary
from npuc.hardware.schema import add_keys

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.ir import Operation

    from npuc.compiler.report import OpRow, Report
    from npuc.compiler.report.causes import Parts
    from npuc.hardware import Hardware

ENTRY_POINTS = "npuc.backends"


class Outside(Backend):
    """
    A backend that is not npuc's: its exceptions are reported as its own, not as defects of npuc.

    It need not be a `Backend`: attributes that it lacks are those of `Backend`.
    """

    def __init__(self, backend: Backend):
        self.backend = backend
        self.name, self.level = backend.name, backend.level
        for fact, otherwise in FACTS.items():
            setattr(self, fact, getattr(backend, fact, otherwise))
        self.own = {ability for ability in ABILITIES if callable(getattr(backend, ability, None))}

    @property
    def explains(self) -> bool:
        """See `Backend`."""
        return "explain" in self.own

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
            raise self._wrong(found)
        return found

    def score_many(self, module: ModuleOp, machines: Sequence[Hardware]) -> Iterator[Report | NpucError]:
        """See `Backend`."""
        from npuc.compiler.report import Report

        count, own = 0, "score_many" in self.own
        with self._blamed():
            many = self.backend.score_many if own else partial(Backend.score_many, self.backend)
            for found in cast("Iterable[object]", many(module, machines)):
                count += 1
                if not isinstance(found, Report | NpucError):
                    raise self._wrong(found)
                if count <= len(machines):
                    yield found
        if count != len(machines):
            raise SourceError(f"backend '{self.name}' returned {count} reports of {len(machines)} machines")

    def needs_schedules(self, hardware: Hardware) -> bool:
        """See `Backend`."""
        with self._blamed():
            own = "needs_schedules" in self.own
            return self.backend.needs_schedules(hardware) if own else super().needs_schedules(hardware)

    def lowered(self) -> Backend | None:
        """See `Backend`."""
        with self._blamed():
            found = self.backend.lowered() if "lowered" in self.own else None
        return None if found is None else Outside(found)

    def check(self, hardware: Hardware) -> None:
        """See `Backend`."""
        with self._blamed():
            if "check" in self.own:
                self.backend.check(hardware)

    def machine_view(self, hardware: Hardware) -> MachineView | None:
        """See `Backend`."""
        with self._blamed():
            return self.backend.machine_view(hardware) if "machine_view" in self.own else None

    def without_effect(self, hardware: Hardware) -> Mapping[str, str]:
        """See `Backend`."""
        with self._blamed():
            return self.backend.without_effect(hardware) if "without_effect" in self.own else {}

    def forecast(self, module: ModuleOp, hardware: Hardware) -> str | None:
        """See `Backend`."""
        with self._blamed():
            return self.backend.forecast(module, hardware) if "forecast" in self.own else None

    def mapping_pass(self, hardware: Hardware, name: str | None) -> str | None:
        """See `Backend`."""
        with self._blamed():
            return self.backend.mapping_pass(hardware, name) if "mapping_pass" in self.own else None

    def time_parts(self, row: OpRow) -> Parts:
        """See `Backend`."""
        with self._blamed():
            return self.backend.time_parts(row) if "time_parts" in self.own else super().time_parts(row)

    def explained_rows(self, report: Report) -> list[OpRow]:
        """See `Backend`."""
        with self._blamed():
            own = "explained_rows" in self.own
            return self.backend.explained_rows(report) if own else super().explained_rows(report)

    def explain(self, question: Question) -> Answer | None:
        """See `Backend`."""
        with self._blamed():
            return self.backend.explain(question) if "explain" in self.own else None

    def _blamed(self) -> Foreign:
        return Foreign(lambda e: SourceError(f"backend '{self.name}' failed: {summary(e)}", hint="--debug shows where"))

    def _wrong(self, found: object) -> SourceError:
        return SourceError(f"backend '{self.name}' returned {type(found).__name__}, expected a Report")


def _load(name: str, path: str) -> Backend:
    module, _, attribute = path.partition(":")
    with Foreign(lambda e: UsageError(f"backend '{name}' cannot be loaded from {path}: {summary(e)}")):
        found = cast("Backend | Callable[[], Backend]", getattr(import_module(module), attribute))
        backend = found if isinstance(found, Backend) else found()
        level = backend.level
    if level not in LEVELS:
        raise UsageError(f"backend '{name}' scores level '{level}', expected {' or '.join(LEVELS)}")
    if built_in().get(name) == path:
        return backend
    outside = Outside(backend)
    add_keys(outside.keys, f"backend '{name}'")
    return outside


@cache
def built_in() -> Mapping[str, str]:
    """npuc's own backends: where each is."""
    folders = (Path(folder) for folder in import_module("npuc.backends").__path__)
    found = sorted(file.parent.name for folder in folders for file in folder.glob("*/backend.py"))
    return MappingProxyType({name: f"npuc.backends.{name}.backend:BACKEND" for name in found})


def _published() -> dict[str, str]:
    """What installed distributions publish: where each backend is; npuc's own win over others of a name."""
    from importlib.metadata import entry_points

    own = built_in()
    return {point.name: point.value for point in entry_points(group=ENTRY_POINTS) if point.name not in own}


def _factory(name: str, path: str) -> Callable[[], Backend]:
    return lambda: _load(name, path)


def get_all_backends() -> dict[str, Callable[[], Backend]]:
    """All backends by name, sorted, as functions that import and make one."""
    paths = {**_published(), **built_in()}
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


def learn_outside_keys() -> None:
    """Let the hardware keys of installed backends be known; one that cannot be loaded has none."""
    for name, path in sorted(_published().items()):
        with suppress(UsageError):
            _load(name, path)


def about(backend: Backend) -> str:
    """The first line of a backend's documentation."""
    kind = type(backend.backend if isinstance(backend, Outside) else backend)
    return cleandoc(kind.__doc__ or "").partition("\n")[0]
