"""The pictures of the page are those that its commands draw today."""

from tests.docs.graphs import DOT, PICTURES, commands, drawn
from tests.docs.pages import read_page


def test_pictures_are_current() -> None:
    found = dict(drawn())
    assert len(found) == 3
    for file, text in found.items():
        assert file.read_text(encoding="utf-8") == text, f"run: python -m tests.docs.graphs ({file.name})"


def test_every_picture_is_shown() -> None:
    assert [file.parent for file in commands()] == [PICTURES, PICTURES]
    for file in commands():
        assert f"](figures/{file.name})" in read_page("graphs")
    assert DOT.exists()
