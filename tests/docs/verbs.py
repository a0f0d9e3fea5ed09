"""
The table of docs/cli.md which verb takes which option, between markers.

    python -m tests.docs.verbs           writes it anew
"""

from collections.abc import Iterator
from typing import get_args, get_type_hints

from npuc.compiler.cli.options import Devices, Machine, Optimisation, Output, Program
from npuc.compiler.cli.verbs.absent import ABSENT
from tests.docs.pages import FOLDER
from tests.docs.tables import filled

GROUPS = (Program, Machine, Optimisation, Devices, Output)
VERBS = tuple(ABSENT)


def option_rows() -> Iterator[str]:
    """A row an option of the groups: how it is spelt, and which verbs take it."""
    yield f"| group | option | {' | '.join(f'`{verb}`' for verb in VERBS)} |"
    yield "|---|---|" + ":-:|" * len(VERBS)
    for group in GROUPS:
        hints = get_type_hints(group, include_extras=True)
        for number, (name, spelt) in enumerate(group.names().items()):
            metavar = get_args(hints[name])[1].metavar
            shown = ", ".join(f"`{text}`" for text in spelt[:-1])
            last = spelt[-1] + ("" if metavar is None else f" {metavar}".replace(" [=", "[=").replace("|", "\\|"))
            taken = ["" if name in ABSENT[verb] else "x" for verb in VERBS]
            title = group.title if number == 0 else ""
            yield " ".join(f"| {title} | {shown}{', ' if shown else ''}`{last}` | {' | '.join(taken)} |".split())


def reason_rows() -> Iterator[str]:
    """A row a verb: what it does not take, and why."""
    names = {name: max(spelt, key=len) for group in GROUPS for name, spelt in group.names().items()}
    names["backend"] = "--backend"
    yield "| verb | takes no | since |"
    yield "|---|---|---|"
    for verb, absent in ABSENT.items():
        for reason in dict.fromkeys(absent.values()):
            options = ", ".join(f"`{names[name]}`" for name, own in absent.items() if own == reason)
            yield f"| `{verb}` | {options} | {reason} |"


def with_verbs(text: str) -> str:
    """The page with its tables made anew."""
    return filled(text, {"options of verbs": option_rows(), "options that verbs lack": reason_rows()})


if __name__ == "__main__":
    page = FOLDER / "cli.md"
    page.write_text(with_verbs(page.read_text(encoding="utf-8")), encoding="utf-8")
