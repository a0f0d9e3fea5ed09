"""The README of a study that is handed on."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from npuc.compiler.cli.reproduce.commands import Reproduced
from npuc.compiler.cli.reproduce.deviations import Deviation
from npuc.compiler.cli.reproduce.environment import Environment

LISTED = 20
"""The deviations that are listed, the largest ones; a file has all."""
MEANINGS = {
    "commands.sh": "the commands below that make text, rows and figures, as a script: `sh commands.sh`",
    "deviations.csv": "every published number beside ours, and by how much ours is larger, in % of the published one",
    "environment.json": "the versions of npuc, Python and libraries, and as `sources` a digest of npuc's own files",
    "rows.csv": "the rows as CSV",
    "rows.json": "the rows, and other tables of the study, as JSON (`npuc.study/1`)",
    "study.txt": "the text of the study",
}


def readme(
    made: Reproduced,
    text: str,
    deviations: Sequence[Deviation],
    versions: Environment,
    files: Sequence[str],
    warnings: Sequence[str],
) -> str:
    """The page in Markdown: what the study is, its files and commands, its text, and where it deviates."""
    parts = [
        _head(made, versions),
        _files(files),
        _commands(made),
        _text(text, warnings),
        *([_deviations(deviations)] if deviations else []),
    ]
    return "\n\n".join(parts) + "\n"


def _head(made: Reproduced, versions: Environment) -> str:
    study = made.study
    others = [one for one in study.presets if one != made.asked.preset]
    lines = [f"# The study {made.name}", "", f"{made.about.rstrip('.')}."]
    if study.source:
        lines += ["", f"Source: {study.source}"]
    beside = f"; others are {', '.join(others)}" if others else ""
    lines += [
        "",
        f"Made by npuc {versions.npuc} and Python {versions.python} under the assumptions "
        f"`{made.asked.preset}`{beside}. The same versions and sources write the same bytes.",
    ]
    if "plot" in study.takes and not made.draws:
        lines += ["", 'Its figures are left out, as matplotlib was not installed: `pip install "npuc[plot]"`.']
    return "\n".join(lines)


def _files(files: Sequence[str]) -> str:
    lines = ["## Files", "", "| file | what it is |", "|---|---|"]
    lines += [f"| `{name}` | {MEANINGS.get(name, 'figure')} |" for name in files]
    return "\n".join(lines)


def _commands(made: Reproduced) -> str:
    lines = ["## Commands", "", "The whole folder:", ""]
    lines += ["```sh", f"npuc reproduce {made.name} FOLDER --preset {made.asked.preset}", "```"]
    more = ", where each further figure runs the study once more" if len(made.commands) > 1 else ""
    lines += ["", f"Its {made.again} alone{more}:"]
    for names, command in made.commands:
        lines += ["", ", ".join(f"`{name}`" for name in names) + ":", "", "```sh", command, "```"]
    return "\n".join(lines)


def _text(text: str, warnings: Sequence[str]) -> str:
    lines = ["## Text", "", *(f"Warning: {line}\n" for line in warnings), "```text"]
    return "\n".join([*lines, *(line.rstrip() for line in text.rstrip("\n").splitlines()), "```"])


def _deviations(found: Sequence[Deviation]) -> str:
    """How far ours are from the published numbers, and what the study itself says of them."""
    apart = [(abs(one.percent), one) for one in found if one.percent is not None]
    said = [one.reproduced for one in found if one.reproduced is not None]
    lines = ["## Deviations", "", f"{_count(len(found), 'published number')} beside ours."]
    if apart:
        lines[-1] += f" {_apart([size for size, _ in apart])}"
    if said:
        lines[-1] += f" By its own tolerances the study reproduces {sum(said)} of {len(said)}."
    listed = [one for _, one in sorted(apart, key=lambda pair: -pair[0])[:LISTED]]
    lines += ["", "| table | row | published | ours | deviation, % of published | reproduced |"]
    lines.append("|---|---|--:|--:|--:|---|")
    for one in listed:
        verdict = "" if one.reproduced is None else "yes" if one.reproduced else "no"
        row = one.row.replace("|", "\\|")
        lines.append(f"| {one.table} | {row} | {one.published:.4g} | {one.ours:.4g} | {one.percent:+.2f} | {verdict} |")
    if len(found) > len(listed):
        lines += ["", f"These are the {len(listed)} largest deviations; `deviations.csv` has all."]
    return "\n".join(lines)


def _apart(sizes: Sequence[float]) -> str:
    """How far ours are from the published numbers: relative, also where these are percentages themselves."""
    if len(sizes) == 1:
        return f"Ours deviates by {sizes[0]:.3g} % of the published value."
    middle, most = median(sizes), max(sizes)
    return f"Half of ours deviate by at most {middle:.3g} % of the published value, all by at most {most:.3g} %."


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
