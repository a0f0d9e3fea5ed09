"""
npuc's passes, as factories that import only what is asked for.

One pass a folder: `lower_to_npu` holds the pass `lower-to-npu`, class `LowerToNpuPass`, and what only this pass needs
or needs first of all. Folders are found by themselves.
"""

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pkgutil import iter_modules

from xdsl.passes import ModulePass

from npuc.compiler.transforms.named_pattern import NamedPattern


def _factory(module: str) -> Callable[[], type[ModulePass]]:
    name = "".join(part.capitalize() for part in module.split("_")) + "Pass"

    def load() -> type[ModulePass]:
        found: type[ModulePass] = getattr(import_module(f"{__name__}.{module}"), name)
        return found

    return load


def get_all_patterns() -> dict[str, tuple[type[NamedPattern], ...]]:
    """The patterns of each pass that has some, by the name of the pass."""
    found: dict[str, tuple[type[NamedPattern], ...]] = {}
    for name in get_all_passes():
        module = f"{__name__}.{name.replace('-', '_')}.patterns"
        if find_spec(module) is not None:
            found[name] = import_module(module).PATTERNS
    return found


def get_all_passes() -> dict[str, Callable[[], type[ModulePass]]]:
    """npuc's own passes by name, sorted."""
    modules = sorted(info.name for info in iter_modules(__path__) if info.ispkg and not info.name.startswith("_"))
    return {module.replace("_", "-"): _factory(module) for module in modules}
