"""The notebooks of docs/notebooks/ run without an error, and give what is stored in them."""

import json

import pytest

from tests.docs import notebooks

nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")
pytest.importorskip("pandas")
pytest.importorskip("matplotlib")


def test_every_notebook_is_run() -> None:
    assert {path.stem for path in notebooks.FOLDER.glob("*.ipynb")} == set(notebooks.NAMES)


@pytest.mark.parametrize("name", notebooks.NAMES)
def test_a_notebook_gives_what_is_stored(name: str) -> None:
    stored = notebooks.read(name)
    assert notebooks.shown(notebooks.executed(stored)) == notebooks.shown(stored)


@pytest.mark.parametrize("name", notebooks.NAMES)
def test_a_stored_notebook_is_small_and_of_no_machine(name: str) -> None:
    text = (notebooks.FOLDER / f"{name}.ipynb").read_text(encoding="utf-8")
    assert len(text.encode()) < notebooks.MOST_BYTES
    document = json.loads(text)
    assert document["metadata"] == notebooks.KERNEL
    assert [cell["id"] for cell in document["cells"]] == [f"cell-{number}" for number in range(len(document["cells"]))]
    code = [cell for cell in document["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    assert "/tmp" not in text
    assert "/work" not in text
    for cell in code:
        assert "error" not in {output["output_type"] for output in cell["outputs"]}
    assert any("text/html" in output.get("data", {}) for cell in code for output in cell["outputs"])


def test_a_difference_is_seen() -> None:
    """Another number, an output that is missing, and an error are told apart from what is stored."""
    stored = notebooks.read("first-step")
    before = notebooks.shown(stored)
    number, cell = next((n, one) for n, one in enumerate(stored.cells) if one.cell_type == "code" and one.outputs)
    cell.outputs[0].data["text/plain"] = "<Report of another>"
    assert notebooks.shown(stored)[number] != before[number]
    cell.outputs = []
    assert notebooks.shown(stored)[number] == []
