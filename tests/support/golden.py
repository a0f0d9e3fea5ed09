"""
What is written down of what the program says today, and how it is written anew: `pytest --update-golden`.

Pages of the other studies are not among it: they take minutes each, and their tests name the command.
"""

import json
import subprocess
import sys
from pathlib import Path

from npuc.compiler.report.report import report_schema

ROOT = Path(__file__).parents[2]
SCHEMA = ROOT / "compiler" / "report" / "report_schema.json"
WRITERS = (
    ("tests.docs.renew",),
    ("tests.docs.tables",),
    ("tests.docs.reference",),
    ("tests.docs.graphs",),
    ("tests.docs.report_fields",),
    ("tests.docs.validation",),
    ("tests.docs.eyeriss",),
    ("tests.docs.study_hypar",),
    ("npuc.frontends.dsl.reference", "docs/language.md"),
)
"""Modules that write pages anew, with their arguments."""


def schema_text() -> str:
    """The JSON Schema of a report as it is shipped."""
    return json.dumps(report_schema(), indent=2) + "\n"


def update_golden() -> list[str]:
    """Write everything anew; the files that are other ones than before, by name."""
    if SCHEMA.read_text(encoding="utf-8") != (text := schema_text()):
        SCHEMA.write_text(text, encoding="utf-8")
    for module, *arguments in WRITERS:
        subprocess.run([sys.executable, "-m", module, *arguments], cwd=ROOT, check=True)
    changed = subprocess.run(["git", "diff", "--name-only"], cwd=ROOT, check=True, capture_output=True, text=True)
    return changed.stdout.split()
