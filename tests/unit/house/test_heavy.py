"""The list of heavy cases of the suite."""

from pathlib import Path

from tests.support.heavy import heavy_of, heavy_tests, seconds_of

ROOT = Path(__file__).parents[3]


def test_the_quickest_case_of_a_test_stays() -> None:
    seconds = {"a.py::t[1]": 9.0, "a.py::t[2]": 5.0, "a.py::t[3]": 7.0, "a.py::alone": 20.0, "a.py::u[1]": 0.1}
    assert heavy_of(seconds, 3.0) == ["a.py::t[1]", "a.py::t[3]"]


def test_examples_of_pages_stay() -> None:
    assert heavy_of({"tests/docs/test_docs.py::t[a]": 9.0, "tests/docs/test_docs.py::t[b]": 8.0}, 3.0) == []


def test_names_are_those_of_pytest(tmp_path: Path) -> None:
    report = tmp_path / "junit.xml"
    case = '<testcase classname="tests.unit.test_a" name="test_b[1-x]" time="2.5"/>'
    report.write_text(f"<testsuites><testsuite>{case}</testsuite></testsuites>")
    assert seconds_of(str(report)) == {"tests/unit/test_a.py::test_b[1-x]": 2.5}


def test_every_heavy_case_is_one_of_a_test_that_is_there() -> None:
    assert heavy_tests()
    for node in heavy_tests():
        path, _, name = node.partition("::")
        text = (ROOT / path).read_text(encoding="utf-8")
        assert f"def {name.partition('[')[0]}(" in text, node
