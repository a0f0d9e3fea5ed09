"""Studies are found: npuc's own by their folders, others by what installed distributions publish."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import npuc.studies
from npuc.compiler.cli import run_command
from npuc.compiler.core.errors import UsageError
from npuc.studies.base import STUDIES
from tests.outside import installed

CODE = '''
"""A study from outside."""

from npuc.compiler.core.errors import UsageError
from npuc.studies.base import FolderOutcome, Outcome, Plan, Study


class Sum(FolderOutcome):
    warnings = ("sums are small",)

    def __init__(self, asked):
        self.asked = asked

    def json(self):
        return f'{{"preset": "{self.asked.preset}", "networks": {len(self.asked.networks)}}}'

    def csv(self):
        return "a,b"

    def show(self, console):
        console.print(f"preset {self.asked.preset}, settings {dict(self.asked.settings)}")

    def draw(self, kind):
        return kind.encode()

    def draw_all(self, kinds):
        return {f"one.{kind}": self.draw(kind) for kind in kinds}


class Sums(Study):
    """Sums of small numbers."""

    presets = ("few", "many")
    takes = frozenset({"networks", "settings", "plot"})
    folder = True

    def plan(self, asked):
        if len(asked.networks) > 1:
            raise UsageError("one network at most")

        def run(advance):
            advance("a sum", 1)
            return Sum(asked)

        return Plan(1, run, "this takes no time")


class Fails(Sums):
    takes = frozenset()

    def plan(self, asked):
        raise KeyError("a defect of its own")


class Table(Outcome):
    json = csv = lambda self: ""

    def show(self, console):
        pass


class Tables(Sums):
    def plan(self, asked):
        return Plan(1, lambda advance: Table())


STUDY = Sums()
'''
ENTRY_POINTS = """
[npuc.studies]
sums = sums_study:Sums
fails = sums_study:Fails
absent = sums_study:Nobody
tables = sums_study:Tables
igo = sums_study:Sums
"""


@pytest.fixture
def outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    with installed(tmp_path, "sums_study", CODE, ENTRY_POINTS):
        yield


def test_own_studies_have_a_folder_each() -> None:
    assert STUDIES.own == (
        "aespa",
        "congestion",
        "crosscheck",
        "digamma",
        "flexion",
        "hypar",
        "igo",
        "libra",
        "rasa",
        "sparsity",
        "themis",
        "thesis",
        "training-methods",
        "union",
    )


@pytest.mark.parametrize("name", STUDIES.own)
def test_presets_are_those_of_the_study(name: str) -> None:
    """An entry says its presets without importing what knows them."""
    from npuc.compiler.analysis.interconnect.chunks.events import LATENCIES as THEMIS
    from npuc.studies.aespa.settings import PRESETS as AESPA
    from npuc.studies.congestion.settings import PRESETS as CONGESTION
    from npuc.studies.crosscheck.study import PRESETS as CROSSCHECK
    from npuc.studies.digamma.settings import PRESETS as DIGAMMA
    from npuc.studies.flexion.settings import PRESETS as FLEXION
    from npuc.studies.hypar.settings import PRESETS as HYPAR
    from npuc.studies.igo.layers import PRESETS as IGO
    from npuc.studies.libra.settings import PRESETS as LIBRA
    from npuc.studies.rasa.settings import PRESETS as RASA
    from npuc.studies.sparsity.settings import PRESETS as SPARSITY
    from npuc.studies.thesis.settings import PRESETS as THESIS
    from npuc.studies.training_methods.study import PRESETS as METHODS
    from npuc.studies.union.settings import PRESETS as UNION

    known = {
        "aespa": AESPA,
        "congestion": CONGESTION,
        "crosscheck": CROSSCHECK,
        "digamma": DIGAMMA,
        "flexion": FLEXION,
        "hypar": HYPAR,
        "igo": IGO,
        "libra": LIBRA,
        "rasa": RASA,
        "sparsity": SPARSITY,
        "themis": THEMIS,
        "thesis": THESIS,
        "training-methods": METHODS,
        "union": UNION,
    }
    assert STUDIES.get(name).presets == tuple(known[name])


@pytest.mark.usefixtures("outside")
def test_one_from_outside_runs(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["study", "sums", "--set", "clock_mhz=2"]) == 0
    out, err = capsys.readouterr()
    assert out == "preset few, settings {'clock_mhz': 2}\n"
    assert err == "npuc: this takes no time\nnpuc: warning: sums are small\n"
    assert run_command(["study", "sums", "--preset", "many", "--network", "n", "--json", "-", "--csv", "r.csv"]) == 0
    assert capsys.readouterr().out == '{"preset": "many", "networks": 1}'
    assert Path("r.csv").read_text() == "a,b"
    assert run_command(["list", "studies"]) == 0
    assert "sums              Sums of small numbers; presets few, many" in capsys.readouterr().out.splitlines()


@pytest.mark.usefixtures("outside")
def test_one_from_outside_draws() -> None:
    pytest.importorskip("matplotlib")
    assert run_command(["study", "sums", "-q", "--plot", "one.pdf"]) == 0
    assert run_command(["study", "sums", "-q", "--plot", "all"]) == 0
    assert Path("one.pdf").read_bytes() == b"pdf"
    assert {file.name: file.read_bytes() for file in Path("all").iterdir()} == {"one.png": b"png", "one.svg": b"svg"}


@pytest.mark.usefixtures("outside")
@pytest.mark.parametrize(("target", "kind"), [("one.pdf", "DrawnOutcome"), ("all", "FolderOutcome")])
def test_one_that_takes_plot_draws(capsys: pytest.CaptureFixture[str], target: str, kind: str) -> None:
    pytest.importorskip("matplotlib")
    assert run_command(["study", "tables", "-q", "--plot", target]) == 1
    assert f"the study takes plot, but its outcome is no {kind}" in capsys.readouterr().err
    assert not Path(target).exists()


@pytest.mark.usefixtures("outside")
@pytest.mark.parametrize(
    ("arguments", "status", "error"),
    [
        (["sums", "--network", "a", "--network", "b"], 2, "one network at most"),
        (
            ["sums", "-D", "batch=2"],
            2,
            "-D is an option of the studies crosscheck, igo, rasa, sparsity, thesis, training-methods and union",
        ),
        (["sums", "--preset", "man"], 2, "did you mean 'many'?"),
        (["fails"], 1, "study 'fails' failed: KeyError"),
        (["fails", "--plot", "a.png"], 2, "the study fails draws nothing"),
        (["absent"], 2, "study 'absent' cannot be loaded from sums_study:Nobody"),
        (["sum"], 2, "did you mean 'sums'?"),
    ],
)
def test_errors(capsys: pytest.CaptureFixture[str], arguments: list[str], status: int, error: str) -> None:
    assert run_command(["study", *arguments]) == status
    assert error in capsys.readouterr().err


@pytest.mark.usefixtures("outside")
def test_own_studies_win() -> None:
    assert type(STUDIES.get("igo")).__module__ == "npuc.studies.igo.entry"


def test_a_folder_is_all_that_one_of_our_own_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "sums").mkdir()
    (tmp_path / "sums" / "entry.py").write_text(CODE)
    with monkeypatch.context() as patched:
        patched.setattr(npuc.studies, "__path__", [*npuc.studies.__path__, str(tmp_path)])
        assert run_command(["study", "sums", "-q"]) == 0
    assert capsys.readouterr().out == "preset few, settings {}\n"
    for name in ("npuc.studies.sums", "npuc.studies.sums.entry"):
        sys.modules.pop(name, None)
    with pytest.raises(UsageError):
        STUDIES.get("sums")
