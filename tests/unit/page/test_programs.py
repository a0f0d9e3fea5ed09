"""The text of a program layer by layer: the lines of the whole, each of its layer, with the same names of values."""

import pytest

from npuc.compiler.cli.page.programs import texts_of_layers
from npuc.compiler.driver.compile import compile_program
from npuc.compiler.driver.watch.watcher import ir_text
from npuc.frontends.source import open_source


@pytest.mark.parametrize("source", ["mlp", "lenet", "lstm_lm", "gpt2"])
def test_the_texts_of_layers_are_parts_of_the_text_of_the_whole(source: str) -> None:
    result = compile_program(open_source(f"samples:{source}"), ["cycle"], {"opt_level": 1})
    whole = [line.strip() for line in ir_text(result.modules[0]).splitlines()]
    found = texts_of_layers(result.modules[0])
    lines = [line.strip() for text in found.values() for line in text.splitlines()]
    assert set(lines) <= set(whole)
    # all of it but the frame: module, function, return, and what belongs to no layer
    assert sorted(lines) == sorted(line for line in whole if line in set(lines))
    assert {row.name for row in result.reports[0].ops if row.kind == "matrix"} <= found.keys()
    for name, text in found.items():
        assert f'layer = "{name}"' in text
