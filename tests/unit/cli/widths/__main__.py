"""Write the output of all commands anew."""

from tests.unit.cli.widths.commands import WIDTHS, file_of, page

for width in WIDTHS:
    file_of(width).write_text(page(width), encoding="utf-8")
