"""
What is written down of what the program says today, and how it is written anew: `pytest --update-golden`.

Pages of the other studies are not among it: they take minutes each, and their tests name the command.
"""

import json
import subprocess
import sys
from pathlib import Path

import msgspec

from npuc.compiler.reference.terms import DATA, read_glossary
from npuc.compiler.report.difference.result import difference_schema
from npuc.compiler.report.report import report_schema

ROOT = Path(__file__).parents[2]
SCHEMA = ROOT / "compiler" / "report" / "report_schema.json"
DIFFERENCE_SCHEMA = ROOT / "compiler" / "report" / "difference" / "difference_schema.json"
TERMS = ROOT / "compiler" / "reference" / DATA
WRITERS = (
    ("tests.docs.renew",),
    ("tests.docs.tables",),
    ("tests.docs.reference",),
    ("tests.docs.pictures",),
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


def difference_schema_text() -> str:
    """The JSON Schema of a difference as it is shipped."""
    return json.dumps(difference_schema(), indent=2) + "\n"


def terms_text() -> str:
    """The glossary as the package holds it."""
    page = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    return msgspec.json.format(msgspec.json.encode(read_glossary(page))).decode() + "\n"


def update_golden() -> list[str]:
    """Write everything anew; the files that are other ones than before, by name."""
    for file, text in (
        (SCHEMA, schema_text()),
        (DIFFERENCE_SCHEMA, difference_schema_text()),
        (TERMS, terms_text()),
    ):
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")
    for module, *arguments in WRITERS:
        subprocess.run([sys.executable, "-m", module, *arguments], cwd=ROOT, check=True)
    changed = subprocess.run(["git", "diff", "--name-only"], cwd=ROOT, check=True, capture_output=True, text=True)
    return changed.stdout.split()
