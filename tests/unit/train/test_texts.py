"""The text of every operation reads back, also through the generic form."""

from io import StringIO
from pathlib import Path

import pytest
from xdsl.parser import Parser
from xdsl.printer import Printer

from npuc.frontends.mlir import make_context

FOLDER = Path(__file__).parents[2] / "filecheck" / "dialects" / "train"
FILES = [file for file in sorted(FOLDER.glob("*.mlir")) if "invalid" not in file.stem]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_text_and_generic_form_read_back(file: Path) -> None:
    module = Parser(make_context(), file.read_text()).parse_module()
    module.verify()
    generic = StringIO()
    Printer(generic, print_generic_format=True).print_op(module)
    for text in (generic.getvalue(), str(module)):
        again = Parser(make_context(), text).parse_module()
        again.verify()
        assert str(again) == str(module)
