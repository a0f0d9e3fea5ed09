"""Which tests a run skipped for lack of a module."""

from pathlib import Path

from tests.support.skipped import left_by

REPORT = """<testsuites><testsuite>
<testcase classname="tests.test_a" name="test_one[a b]"><skipped message="could not import 1">x</skipped></testcase>
<testcase classname="tests.test_a" name="test_two"><skipped message="takes more than a moment">x</skipped></testcase>
<testcase classname="tests.test_a" name="test_three" />
<testcase classname="" name="tests.test_b"><skipped message="collection">could not import 'm'</skipped></testcase>
<testcase classname="" name="tests.test_c"><skipped message="collection">no</skipped></testcase>
</testsuite></testsuites>
"""


def test_those_that_lack_a_module_are_named(tmp_path: Path) -> None:
    report = tmp_path / "first.xml"
    report.write_text(REPORT)
    assert [*left_by(str(report))] == ["tests/test_a.py::test_one[a b]", "tests/test_b.py"]
