"""
What a cost backend is, and how backends are found.

A backend scores a program at one level of the IR on one hardware. npuc's own are listed here; others are published by
any installed distribution through the entry point group `npuc.backends`:

    [project.entry-points."npuc.backends"]
    mine = "my_package:MyBackend"          # a class, or a function without arguments that returns a backend
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Literal, Protocol, cast

from npuc.compiler.errors import UsageError, did_you_mean

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.ir import Operation

    from npuc.backends.hardware import Hardware
    from npuc.compiler.report import Report

Level = Literal["train", "npu"]

ENTRY_POINTS = "npuc.backends"
BUILT_IN = {"cycle": "npuc.backends.cycle:CycleBackend"}
DEFAULT = "cycle"
DEFAULT_HARDWARE = "igo-large"


class Backend(Protocol):
    """
    A cost model.

    `name` is what `--backend` takes. `level` is the IR that `score` expects: `train` (the graph of layers) or `npu`
    (contractions with schedules, vector and move work); the driver lowers no further than that. A backend may also
    have a `default_hardware: str`, the preset that is taken when nobody names one.
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


def _load(name: str, path: str) -> Backend:
    module, _, attribute = path.partition(":")
    try:
        factory = cast("Callable[[], Backend]", getattr(import_module(module), attribute))
    except (ImportError, AttributeError) as e:
        raise UsageError(f"backend '{name}' cannot be loaded from {path}: {e}") from e
    return factory()


def _factory(name: str, path: str) -> Callable[[], Backend]:
    return lambda: _load(name, path)


def get_all_backends() -> dict[str, Callable[[], Backend]]:
    """All backends by name, sorted, as functions that import and make one; npuc's own win over others of a name."""
    from importlib.metadata import entry_points

    paths = {point.name: point.value for point in entry_points(group=ENTRY_POINTS)} | BUILT_IN
    return {name: _factory(name, path) for name, path in sorted(paths.items())}


def get_backend(name: str) -> Backend:
    """The backend of that name. Raises `UsageError` with the nearest known name."""
    backends = get_all_backends()
    if name not in backends:
        raise UsageError(f"unknown backend '{name}'", hint=did_you_mean(name, list(backends)))
    return backends[name]()


def default_hardware(backend: Backend) -> str:
    """The preset a backend is scored on when nobody names one."""
    return str(getattr(backend, "default_hardware", DEFAULT_HARDWARE))
