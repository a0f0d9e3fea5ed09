"""The house rules that code can check: which way imports go, and how long files may be."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("dialects", "compiler", "backends", "frontends", "samples")
FILES = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))

# What a package may import, by the longest prefix of its name. The order is that of docs/architecture.md.
DIALECTS = ["npuc.dialects"]
ERRORS = ["npuc.compiler.errors", "npuc.compiler.boundary", "npuc.compiler.verify"]
LAYERS = [*DIALECTS, *ERRORS, "npuc.compiler.options", "npuc.compiler.layers", "npuc.compiler.builder"]
ANALYSIS = [*LAYERS, "npuc.compiler.analysis"]
INTERPRETER = [*LAYERS, "npuc.compiler.analysis.mapping", "npuc.compiler.interpreter"]
REPORT = [*ERRORS, "npuc.compiler.options", "npuc.compiler.report"]
ALLOWED = {
    "npuc.dialects": DIALECTS,
    "npuc.compiler.errors": [],
    "npuc.compiler.options": [],
    "npuc.compiler.boundary": ["npuc.compiler.errors"],
    "npuc.compiler.verify": [*DIALECTS, "npuc.compiler.errors"],
    "npuc.compiler.builder": LAYERS,
    "npuc.compiler.layers": LAYERS,
    "npuc.compiler.analysis": ANALYSIS,
    "npuc.compiler.interpreter": INTERPRETER,
    "npuc.compiler.report": REPORT,
    "npuc.compiler.transforms": [*ANALYSIS, "npuc.compiler.interpreter", "npuc.compiler.transforms"],
    "npuc.backends": [*ANALYSIS, *REPORT, "npuc.backends"],
    "npuc.frontends": [*LAYERS, "npuc.frontends", "npuc.samples"],
    "npuc.samples.pattern": DIALECTS,
    "npuc": ["npuc"],
}


def module_name(path: Path) -> str:
    return "npuc." + ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def imports(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None and node.level == 0:
            found.add(node.module)
    return {name for name in found if name.partition(".")[0] == "npuc"}


def is_below(name: str, package: str) -> bool:
    return name == package or name.startswith(package + ".")


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_go_one_way(path: Path) -> None:
    name = module_name(path)
    rule = max((package for package in ALLOWED if is_below(name, package)), key=len)
    wrong = [i for i in sorted(imports(path)) if not any(is_below(i, package) for package in ALLOWED[rule])]
    assert wrong == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_files_are_short_enough_to_read(path: Path) -> None:
    limit = 600 if "dialects" in path.parts else 310
    assert len(path.read_text().splitlines()) <= limit


def test_the_page_names_every_analysis() -> None:
    """So that a new one is placed where a reader looks for it."""
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    table = text[text.index("The analyses, by the question") : text.index("## What a change touches")]
    names = {path.stem for path in (ROOT / "compiler" / "analysis").rglob("*.py")} - {"__init__"}
    assert names == {name for name in names if f"`{name}`" in table}
