"""The pictures of pages are those that their commands draw today."""

import pytest

from tests.docs.pages import read_page
from tests.docs.pictures import DOT, PAGES, PICTURES, commands, dot_drawn, drawn


def test_pictures_are_current() -> None:
    pytest.importorskip("matplotlib")
    found = dict(drawn())
    assert set(found) == {file for page in PAGES for file in commands(page)}
    for file, text in found.items():
        assert file.read_text(encoding="utf-8") == text, f"run: python -m tests.docs.pictures ({file.name})"


def test_the_graph_in_dot_is_current() -> None:
    assert DOT.read_text(encoding="utf-8") == dot_drawn(), "run: python -m tests.docs.pictures"


@pytest.mark.parametrize("page", PAGES)
def test_every_picture_is_shown(page: str) -> None:
    assert commands(page)
    for file in commands(page):
        assert file.parent == PICTURES
        assert f"](figures/{file.name})" in read_page(page)
