"""The citation: the keys that the Citation File Format 1.2.0 requires, and what pyproject.toml says."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
REQUIRED = ("authors", "cff-version", "message", "title")
"""Citation File Format 1.2.0, "Valid keys"."""
LINE = re.compile(r'([a-z-]+):(?: (?:"([^"\\]*)"|([^\s"#:][^"#:]*)))?')


def test_the_citation_is_valid_and_says_what_the_package_says() -> None:
    found: dict[str, str] = {}
    items: dict[str, list[str]] = {}
    key = ""
    for line in (ROOT / "CITATION.cff").read_text().splitlines():
        if line.startswith("  - "):
            items.setdefault(key, []).append(line[4:].strip('"'))
            continue
        read = LINE.fullmatch(line)
        assert read is not None, line
        key = read[1]
        assert key not in found, key
        found[key] = read[2] or read[3] or ""
    assert {*REQUIRED} <= {*found}
    assert found["cff-version"] == "1.2.0"
    assert found["type"] in ("software", "dataset")
    assert all(author.startswith("name: ") for author in items["authors"])
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for name, same in (("title", "name"), ("version", "version"), ("license", "license"), ("abstract", "description")):
        assert found[name] == project[same], name
    assert {*items["keywords"]} <= {*project["keywords"]}
