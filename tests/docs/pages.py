"""
The pages of docs/ whose examples are executed, and how their blocks are written.

    ```console            lines that begin with `$ ` are commands, the others what they print; behind a line that ends
                          with a backslash the command goes on in a line that begins with `> `
    ```toml small.toml    a file of that name in the working folder (any language, any name)
    ```python             executed; names live to the end of the page. Where it imports torch, only with PyTorch
    ```text               what the python block before it prints

The line `<!-- long -->` before a block says that it takes long: only `--examples full` executes it in a whole run.

In expected output `…` stands for any text, and alone on a line for any number of lines. Formulas and outlines that
are not executed are indented.
"""

import re
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs"
NAMES = (
    *(
        "cycle",
        "interleaving",
        "beyond",
        "fusion",
        "recompute",
        "reversible",
        "roofline",
        "bounds",
        "study-igo",
        "study-thesis",
        "study-hypar",
        "study-flexion",
        "study-themis",
        "study-libra",
        "study-congestion",
        "study-digamma",
        "study-training-methods",
        "study-aespa",
        "study-sparsity",
        "study-rasa",
        "study-union",
        "hetero",
        "sparse-machines",
        "maestro",
        "crosscheck",
        "parallel",
        "network",
        "training",
        "predicted-gradients",
        "procrustes",
        "tensordash",
        "quantize",
        "sparsity",
        "nm-recipes",
        "devices",
        "scalesim",
        "chakra",
        "mlir",
        "validation",
        "hardware",
        "cli",
        "cache",
        "explain",
        "graphs",
        "pages",
        "pictures",
        "notebooks",
        "report",
        "reuse",
        "diff",
        "map",
        "constraints",
        "flexibility",
        "design",
        "design-tutorial",
        "optimize",
        "mapping",
        "editor",
        "formats",
        "precision",
        "glossary",
    ),
    "importing",
    "jax",
    *("writing-a-pass", "writing-a-backend", "writing-a-frontend", "writing-a-layer"),
)
DATA = ROOT / "tests" / "oracle" / "data"
GIVEN = {
    "importing": {"model.pt2": DATA / "torch" / "cnn.pt2"},
    "jax": {name: DATA / "jax" / name for name in ("step.mlir", "model.mlir", "dropout_step.mlir")},
}
"""Files that the examples of a page work on, by the names that they have there."""
LANGUAGES = ("console", "python", "text", "toml", "yaml", "dsl", "mlir", "csv", "cfg", "json")


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, the file name behind it, its line in the page, its text, whether it takes long."""

    language: str
    name: str
    line: int
    text: str
    is_long: bool = False


@dataclass(frozen=True)
class Command:
    """A command of a console block as the page has it, its line in the page, and the lines that it prints."""

    shown: str
    line: int
    output: tuple[str, ...]

    @property
    def text(self) -> str:
        """The command in one line."""
        return self.shown.replace("\\\n> ", "")


def read_page(name: str) -> str:
    """The text of docs/NAME.md."""
    return (FOLDER / f"{name}.md").read_text(encoding="utf-8")


def give_files(page: str, folder: Path) -> None:
    """Put the files that the examples of a page work on into their working folder."""
    for name, path in GIVEN.get(page, {}).items():
        (folder / name).write_bytes(path.read_bytes())


def blocks_of(text: str) -> list[Block]:
    """The fenced blocks of a page in order."""
    return [
        Block(m[2], m[3].strip(), text.count("\n", 0, m.start(2)) + 1, m[4], m[1] is not None)
        for m in re.finditer(r"^(<!-- long -->\n)?```(\w+)([^\n]*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    ]


def executed(blocks: list[Block], *, with_long: bool = True) -> list[Block]:
    """The blocks to execute here: without PyTorch none that imports it, nor what it prints; long ones on demand."""
    has_torch = find_spec("torch") is not None
    found: list[Block] = []
    left_out = False
    for block in blocks:
        if block.language != "text":
            left_out = (block.is_long and not with_long) or ("import torch" in block.text and not has_torch)
        if not left_out:
            found.append(block)
    return found


def commands_of(block: Block) -> list[Command]:
    """The commands of a console block."""
    found: list[Command] = []
    for number, line in enumerate(block.text.splitlines(), block.line + 1):
        if line.startswith("$ "):
            found.append(Command(line.removeprefix("$ "), number, ()))
        elif line.startswith("> ") and found[-1].shown.endswith("\\") and not found[-1].output:
            found[-1] = replace(found[-1], shown=f"{found[-1].shown}\n{line}")
        else:
            found[-1] = replace(found[-1], output=(*found[-1].output, line))
    return found


def section_of(text: str, heading: str) -> str:
    """The part of a page below a heading, up to the next one of the same or a higher level."""
    level = len(heading) - len(heading.lstrip("#"))
    start = text.index(f"\n{heading}\n") + 1
    rest = text[start + len(heading) :]
    end = re.search(rf"^#{{1,{level}}} ", rest, re.MULTILINE)
    return rest if end is None else rest[: end.start()]


def table_of(section: str) -> list[list[str]]:
    """The cells of the first table of a section, without its head."""
    lines: list[str] = []
    for line in section.splitlines():
        if line.startswith("|"):
            lines.append(line)
        elif lines:
            break
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip()[1:-1])] for line in lines[2:]]


def matches(expected: str, found: str) -> bool:
    """Whether output is what the page shows; blanks at the ends of lines do not count."""
    pattern = ""
    for line in expected.rstrip().splitlines():
        if line.strip() == "…":
            pattern += r"(?:.*\n)*?"
        else:
            pattern += ".*?".join(re.escape(part) for part in line.rstrip().split("…")) + r"\n"
    lines = "".join(line.rstrip() + "\n" for line in found.rstrip().splitlines())
    return re.fullmatch(pattern, lines) is not None
