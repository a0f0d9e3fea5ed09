"""Writes the table of the parser of the network language: `python -m tests.unit.dsl.grammar_table`."""

from pathlib import Path

from npuc.frontends import dsl
from npuc.frontends.dsl.syntax.parser import parser_options
from npuc.frontends.dsl.syntax.table import TABLE, grammar_text, table_of

FILE = Path(dsl.__path__[0]) / TABLE


def present() -> str:
    """The table that the grammar has today."""
    return table_of(grammar_text(), parser_options())


if __name__ == "__main__":
    FILE.write_text(present(), encoding="utf-8")
