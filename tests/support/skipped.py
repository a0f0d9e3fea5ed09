"""
The tests that a run skipped because a module was not installed, for a run that has it.

    pytest -n 2 --junitxml first.xml
    python -m tests.support.skipped first.xml > left.txt
    pytest -n 2 @left.txt
"""

import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator

MISSING = "could not import"
"""How `pytest.importorskip` begins."""


def left_by(report: str) -> Iterator[str]:
    """The identifiers of such tests in a report in JUnit's format; of a module that was skipped as a whole its path."""
    for case in ET.parse(report).getroot().iter("testcase"):
        skipped, module, name = case.find("skipped"), case.get("classname", ""), case.get("name", "")
        if skipped is None or MISSING not in f"{skipped.get('message')} {skipped.text}":
            continue
        yield f"{module.replace('.', '/')}.py::{name}" if module else f"{name.replace('.', '/')}.py"


if __name__ == "__main__":
    print("\n".join(left_by(sys.argv[1])))
