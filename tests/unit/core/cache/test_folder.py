"""Where the store is: by options, the environment, and the platform."""

from collections.abc import Mapping

import pytest

from npuc.compiler.core.cache import folder
from npuc.compiler.core.cache.folder import DEFAULT_MIB, MIB, place, user_folder

HOME = {"HOME": "/home/me"}


@pytest.mark.parametrize(
    ("arguments", "environment", "expected"),
    [
        ("compile net.dsl", HOME, "/home/me/.cache/npuc"),
        ("compile net.dsl", {"XDG_CACHE_HOME": "/fast", **HOME}, "/fast/npuc"),
        ("compile net.dsl", {"XDG_CACHE_HOME": "relative", **HOME}, "/home/me/.cache/npuc"),
        ("compile net.dsl", {"NPUC_CACHE_DIR": "/there", **HOME}, "/there"),
        ("compile net.dsl", {"NPUC_CACHE_DIR": "", **HOME}, "/home/me/.cache/npuc"),
        ("compile net.dsl --cache-dir /here", {"NPUC_CACHE_DIR": "/there"}, "/here"),
        ("compile --cache-dir=/here net.dsl", {"NPUC_CACHE_DIR": "/there"}, "/here"),
        ("compile net.dsl --cache-dir /here", {"NPUC_NO_CACHE": "1"}, "/here"),
        ("compile net.dsl", {"NPUC_NO_CACHE": "1", "NPUC_CACHE_DIR": "/there"}, None),
        ("compile net.dsl --no-cache", HOME, None),
        ("compile net.dsl --no-cache --cache-dir /here", HOME, None),
        ("compile -- --no-cache", HOME, "/home/me/.cache/npuc"),
        ("compile net.dsl --cache-dir", HOME, "/home/me/.cache/npuc"),
    ],
)
def test_place(
    arguments: str, environment: Mapping[str, str], expected: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    assert place(arguments.split(), environment).folder == expected


def test_other_platforms(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "darwin")
    assert user_folder(HOME) == "/home/me/Library/Caches/npuc"
    monkeypatch.setattr("sys.platform", "win32")
    assert str(user_folder({"LOCALAPPDATA": "/local"})).replace("\\", "/") == "/local/npuc/Cache"
    assert user_folder({}) is None


def test_no_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "linux")

    def unknown(path: str) -> str:
        return path  # as for a user whom nobody knows

    monkeypatch.setattr(folder.os.path, "expanduser", unknown)
    assert user_folder({}) is None


@pytest.mark.parametrize(("text", "expected"), [("", DEFAULT_MIB), ("1", 1), ("2048", 2048)])
def test_bound(text: str, expected: int) -> None:
    found = place([], {"NPUC_CACHE_MIB": text, **HOME})
    assert (found.bound, found.complaint) == (expected * MIB, None)


@pytest.mark.parametrize("text", ["0", "-1", "much", "1.5", "٣", "9" * 30])
def test_a_wrong_bound_is_told(text: str) -> None:
    found = place([], {"NPUC_CACHE_MIB": text, **HOME})
    assert found.bound == DEFAULT_MIB * MIB
    assert f"NPUC_CACHE_MIB={text}: expected a number of MiB" in (found.complaint or "")
