"""Every example of docs/language.md compiles, or fails with the message shown; its table of layers is up to date."""

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from npuc.compiler.core.errors import SourceError
from npuc.frontends import read_source
from npuc.frontends.dsl.reference import layer_table, with_table

DOCUMENT = Path(__file__).parents[3] / "docs" / "language.md"
TEXT = DOCUMENT.read_text(encoding="utf-8")


@dataclass(frozen=True)
class Example:
    """A fenced block: its language, what stands behind it, its line and text; `shown` is the text block after it."""

    language: str
    mark: str
    line: int
    text: str
    shown: str = ""


def _examples() -> list[Example]:
    found = [
        Example(m[1], m[2].strip(), TEXT.count("\n", 0, m.start()) + 1, m[3])
        for m in re.finditer(r"^```(\w+)([^\n]*)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    ]
    return [
        Example(one.language, one.mark, one.line, one.text, after.text if after is not None else "")
        for one, after in zip(found, [*found[1:], None], strict=True)
        if one.language == "dsl"
    ]


EXAMPLES = _examples()
WRAPPER = """network example(batch=8) {{
  input x: f32[batch, 16]
  {}
  output h
  loss mse(h, 0 * h)
}}
"""


def test_there_are_examples_of_each_kind():
    assert {one.mark for one in EXAMPLES} == {"", "fragment", "wrong", "blocks.dsl"}


@pytest.mark.parametrize("example", [e for e in EXAMPLES if e.mark != "wrong"], ids=lambda e: f"line{e.line}")
def test_example_compiles(example: Example, tmp_path: Path):
    for other in EXAMPLES:
        if other.mark.endswith(".dsl"):
            (tmp_path / other.mark).write_text(other.text, encoding="utf-8")
    text = WRAPPER.format(example.text) if example.mark == "fragment" else example.text
    if example.mark.endswith(".dsl"):
        text = f'import "{example.mark}"\n' + WRAPPER.format("h = mlp(x, [4, 4])")
    module = read_source(text, filename=str(tmp_path / "example.dsl"))
    module.verify()


@pytest.mark.parametrize("example", [e for e in EXAMPLES if e.mark == "wrong"], ids=lambda e: f"line{e.line}")
def test_wrong_example_gives_the_message_shown(example: Example):
    with pytest.raises(SourceError) as caught:
        read_source(example.text, filename="mlp.dsl")
    assert caught.value.render() + "\n" == example.shown


def test_names_that_the_text_quotes():
    text = next(e.text for e in EXAMPLES if "small_resnet" in e.text)
    assert 'train.param = "1.1.c1.conv2d.weight"' in str(read_source(text))
    written_out = re.sub(
        r"for i in 0\.\.len\(depths\).*", "for d in depths { x = x * d }; stage2 = stage(x, 32, 2, 2); x = stage2", text
    )
    assert 'train.param = "stage2.1.c1.conv2d.weight"' in str(read_source(written_out))


def test_table_of_layers_is_up_to_date():
    assert layer_table() in TEXT, "run: python -m npuc.frontends.dsl.reference docs/language.md"


def test_renewing_the_table_changes_nothing_else():
    assert with_table(TEXT) == TEXT
