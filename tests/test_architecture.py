"""The house rules that code can check: which way imports go, how large folders are, how long files may be."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("dialects", "compiler", "hardware", "backends", "frontends", "samples", "studies")
FILES = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))

# What a part may import beside itself, by the longest prefix of a module's name: from the ground up, so that each
# names only parts above it in this list. docs/architecture.md draws it.
DIALECTS = ("npuc.dialects",)
CORE = (*DIALECTS, "npuc.compiler.core")
LAYERS = (*CORE, "npuc.compiler.layers")
NEST = (*CORE, "npuc.compiler.analysis.nest")
MACHINE = (*NEST, "npuc.compiler.analysis.machine")
TIMING = (*MACHINE, "npuc.compiler.analysis.timing")
SCHEDULE = (*TIMING, "npuc.compiler.analysis.schedule")
SOLVERS = "npuc.compiler.analysis.solvers"
ANALYSIS = (*LAYERS, "npuc.compiler.analysis")
REPORT = (*CORE, "npuc.compiler.report")
BACKENDS = (*ANALYSIS, *REPORT, "npuc.hardware", "npuc.backends")
DRIVER = (
    *BACKENDS,
    "npuc.frontends",
    "npuc.compiler.transforms",
    "npuc.compiler.interpreter",
    "npuc.compiler.distributed",
    "npuc.compiler.driver",
)
EXPLORE = (*DRIVER, "npuc.compiler.explore", "npuc.compiler.explain")
ALLOWED: dict[str, tuple[str, ...]] = {
    "npuc.compiler.core.frozen": (),
    "npuc.dialects": ("npuc.compiler.core.frozen",),
    "npuc.samples": DIALECTS,
    "npuc.compiler.core": DIALECTS,
    "npuc.compiler.layers": CORE,
    "npuc.compiler.report": CORE,
    "npuc.compiler.analysis.__init__": (),
    "npuc.compiler.analysis.nest": CORE,
    "npuc.compiler.analysis.machine": (*NEST, "npuc.compiler.analysis.sparsity"),
    "npuc.compiler.analysis.timing": MACHINE,
    "npuc.compiler.analysis.schedule": TIMING,
    "npuc.compiler.analysis.lru": MACHINE,
    "npuc.compiler.analysis.programs": (*SCHEDULE, "npuc.compiler.analysis.lru"),
    "npuc.compiler.analysis.solvers": CORE,
    "npuc.compiler.analysis.memory": (*LAYERS, *NEST, SOLVERS),
    "npuc.compiler.analysis.interconnect": CORE,
    "npuc.compiler.analysis.bandwidth": (*CORE, SOLVERS),
    "npuc.compiler.analysis.sharding": (*LAYERS, *NEST, SOLVERS, "npuc.compiler.analysis.interconnect"),
    "npuc.compiler.analysis.sparsity": LAYERS,
    "npuc.compiler.analysis.mapping": MACHINE,
    "npuc.compiler.analysis.hetero": CORE,
    "npuc.compiler.analysis.fusion": (*LAYERS, *SCHEDULE, "npuc.compiler.analysis.programs"),
    "npuc.compiler.interpreter": (
        *(*LAYERS, "npuc.compiler.analysis.mapping"),
        *("npuc.compiler.analysis.fusion", "npuc.compiler.analysis.hetero"),
    ),
    "npuc.frontends": (*LAYERS, "npuc.samples"),
    "npuc.frontends.maestro": (*LAYERS, "npuc.frontends", "npuc.compiler.analysis.mapping"),
    "npuc.hardware": (*ANALYSIS, *REPORT),
    "npuc.compiler.transforms": (*ANALYSIS, "npuc.compiler.interpreter"),
    "npuc.backends": (*ANALYSIS, *REPORT, "npuc.hardware"),
    "npuc.compiler.distributed": (*ANALYSIS, *REPORT, "npuc.hardware"),
    "npuc.compiler.driver": DRIVER,
    "npuc.compiler.graph": (*ANALYSIS, *REPORT),
    "npuc.compiler.emit": (*BACKENDS, "npuc.compiler.graph", "npuc.compiler.transforms", "npuc.compiler.interpreter"),
    "npuc.compiler.others": (*DRIVER, "npuc.compiler.graph", "npuc.compiler.emit"),
    "npuc.compiler.explore": DRIVER,
    "npuc.compiler.explain": DRIVER,
    "npuc.compiler.reference": DRIVER,
    "npuc.studies": EXPLORE,
    "npuc.compiler.cli": (
        *EXPLORE,
        *("npuc.studies", "npuc.compiler.graph", "npuc.compiler.emit", "npuc.compiler.reference"),
        "npuc.compiler.others",
    ),
    "npuc.compiler.entry": (*DIALECTS, "npuc.compiler.core", "npuc.compiler.cli"),
    "npuc.compiler.patterns": (*DIALECTS, "npuc.compiler.transforms"),
    "npuc.compiler.universe": (*DIALECTS, "npuc.compiler.transforms"),
    "npuc.compiler.__init__": EXPLORE,
}
# Folders with a file an entry, where more is better.
FILE_AN_ENTRY = ("compiler/layers", "dialects/train")


def module_name(path: Path) -> str:
    return "npuc." + ".".join(path.relative_to(ROOT).with_suffix("").parts)


def package_name(path: Path) -> str:
    return module_name(path).removesuffix(".__init__")


MODULES = {package_name(path): path for path in FILES}


@cache
def imports(path: Path) -> frozenset[str]:
    """The modules of npuc that a file imports, in functions too."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None and node.level == 0:
            named = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= named & MODULES.keys() or {node.module}
    return frozenset(name for name in found if name.partition(".")[0] == "npuc")


def is_below(name: str, package: str) -> bool:
    return name == package or name.startswith(package + ".")


def part_of(name: str) -> str:
    return max((part for part in ALLOWED if is_below(name, part)), key=len, default="")


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_go_one_way(path: Path) -> None:
    part = part_of(module_name(path))
    assert part, "every part has a rule"
    wrong = [i for i in sorted(imports(path)) if not any(is_below(i, package) for package in (part, *ALLOWED[part]))]
    assert wrong == []


def test_no_module_imports_itself_in_a_circle() -> None:
    assert cycles({name: sorted(imports(path)) for name, path in MODULES.items()}) == []


def test_no_cycles_of_parts() -> None:
    edges: dict[str, list[str]] = {part: [] for part in ALLOWED}
    for path in FILES:
        part = part_of(module_name(path))
        used = {part_of(name) for name in imports(path) if name in MODULES}
        edges[part] += sorted(used - {part, ""})
    assert cycles(edges) == []


def cycles(edges: dict[str, list[str]]) -> list[list[str]]:
    """The sets of nodes that reach each other (Tarjan's algorithm)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for target in edges.get(node, ()):
            if target not in index:
                visit(target)
                low[node] = min(low[node], low[target])
            elif target in stack:
                low[node] = min(low[node], index[target])
        if low[node] == index[node]:
            at = stack.index(node)
            if len(stack) - at > 1:
                found.append(sorted(stack[at:]))
            del stack[at:]

    for node in edges:
        if node not in index:
            visit(node)
    return found


def package_of(path: Path) -> str:
    """The package within which a name has one meaning: compiler.analysis, backends.cycle, frontends, studies …"""
    parts = path.relative_to(ROOT).parts
    return ".".join(parts[:2] if parts[0] in ("compiler", "backends", "dialects") else parts[:1])


def test_a_class_name_has_one_meaning_within_a_package() -> None:
    found: dict[tuple[str, str], list[str]] = {}
    for path in FILES:
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found.setdefault((package_of(path), node.name), []).append(str(path.relative_to(ROOT)))
    assert {name: paths for name, paths in found.items() if len(paths) > 1} == {}


def test_private_modules_are_used_in_their_own_folder() -> None:
    for path in FILES:
        for name in imports(path):
            package, _, module = name.rpartition(".")
            private = module.startswith("_") and not module.startswith("__")
            assert not private or is_below(package_name(path), package), f"{path} imports {name}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_files_are_short_enough_to_read(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 310


def test_folders_are_small_enough_to_look_through() -> None:
    sizes: dict[str, int] = {}
    for path in FILES:
        folder = str(path.parent.relative_to(ROOT))
        sizes[folder] = sizes.get(folder, 0) + (path.name != "__init__.py")
    assert {folder: size for folder, size in sizes.items() if size > 20 and folder not in FILE_AN_ENTRY} == {}


def test_the_page_names_every_part() -> None:
    """So that a new one is placed where a reader looks for it."""
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    parents = ("compiler", "compiler/analysis")
    folders = {path.parent.relative_to(ROOT) for path in FILES if path.name == "__init__.py"}
    parts = {*FOLDERS, *(str(folder) for folder in folders if str(folder.parent) in parents)} - {"compiler"}
    assert {part for part in parts if f"`{part}/`" not in text} == set()


LISTED = (
    "compiler/analysis/mapping/constraints",
    "compiler/analysis/bandwidth",
    "compiler/analysis/sparsity",
    "compiler/explore/design",
    "compiler/explore/mapping",
    "compiler/explore/network",
    "compiler/explore/mapping/constrained",
)


@pytest.mark.parametrize("folder", LISTED)
def test_a_list_of_files_is_that_of_the_folder(folder: str) -> None:
    text = ast.get_docstring(ast.parse((ROOT / folder / "__init__.py").read_text())) or ""
    named = set(re.findall(r"(?<![\w/])\w+\.py\b", text))
    assert named == {path.name for path in (ROOT / folder).glob("*.py")} - {"__init__.py"}
