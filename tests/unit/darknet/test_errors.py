"""What is wrong in a file is said at its line and column, and no damaged file ends in a traceback."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from npuc.compiler import compile_source, describe_file, run_file
from npuc.compiler.cli import run_command
from npuc.compiler.core.errors import SourceError, UsageError
from npuc.frontends.base import Request
from npuc.frontends.source import open_source, text_source

FOLDER = Path(__file__).parents[2] / "oracle" / "data" / "darknet"
NET = "[net]\nbatch=2\nchannels=4\nheight=8\nwidth=8\n"
CONV = "[convolutional]\nfilters=8\nsize=3\npad=1\nactivation=leaky\n"

CASES = {
    "": ("net.cfg:1:1", "found no section"),
    "hello": ("net.cfg:1:1", "expected [section]"),
    "a=1": ("net.cfg:1:1", "expected [net] first"),
    "[conv]\n": ("net.cfg:1:1", "expected [net] first"),
    "[net]\n": ("net.cfg:1:1", "expected layers below it"),
    "[net\nbatch=1": ("net.cfg:1:1", "expected a section in brackets"),
    "[net]\nbatch=2\n[avgpool]\n": ("net.cfg:1:1", "found no size of the input"),
    "[net]\n  batch = x\n[avgpool]\n": ("net.cfg:2:3", "found 'x', expected a whole number"),
    "[net]\nlearning_rate=nan\ninputs=3\n[avgpool]\n": ("net.cfg:2:1", "expected a number"),
    f"{NET}[convolutionl]\n": ("net.cfg:6:1", "found no section of darknet"),
    f"{NET}[local]\n": ("net.cfg:6:1", "its weights are another for each place"),
    f"{NET}[convolutional]\nfilters=0\n": ("net.cfg:7:1", "found 0, expected at least 1"),
    f"{NET}[convolutional]\nfilters=9999999999\n": ("net.cfg:7:1", "expected 1 to 2147483647"),
    f"{NET}[convolutional]\nsize=9\n": ("net.cfg:6:1", "[convolutional]: "),
    f"{NET}[convolutional]\ngroups=3\n": ("net.cfg:7:1", "expected a divisor"),
    f"{NET}[convolutional]\nxnor=1\n": ("net.cfg:7:1", "has no counterpart"),
    f"{NET}[convolutional]\nactivation=lhtan\n": ("net.cfg:6:1", "found the activation 'lhtan'"),
    f"{NET}{CONV}[route]\nlayers=-2\n": ("net.cfg:12:1", "found layer -2, expected one above this layer, 1"),
    f"{NET}{CONV}[route]\nlayers=1\n": ("net.cfg:12:1", "found layer 1"),
    f"{NET}{CONV}[route]\nlayers=5\n": ("net.cfg:12:1", "found layer 5"),
    f"{NET}{CONV}[route]\n": ("net.cfg:11:1", "found no layer"),
    f"{NET}{CONV}[maxpool]\nsize=2\nstride=2\n[route]\nlayers=0,1\n": ("net.cfg:15:1", "expected equal heights"),
    f"{NET}{CONV}[shortcut]\nfrom=-1\nactivation=linear\nweights_type=per_channel\n": (
        "net.cfg:14:1",
        "no counterpart",
    ),
    f"{NET}[region]\nnum=2\nclasses=2\n": ("net.cfg:7:1", "found 4 channels, expected 2 anchors x 7 numbers"),
    f"{NET}[yolo]\nmask=0\nclasses=2\n": ("net.cfg:7:1", "expected 1 anchors x 7 numbers"),
    f"{NET}[reorg]\nstride=3\n": ("net.cfg:7:1", "expected a divisor of its sizes"),
    f"{NET}[crop]\ncrop_height=9\ncrop_width=2\n": ("net.cfg:7:1", "found 9 x 2 of 8 x 8"),
    f"{NET}[dropout]\nprobability=1\n": ("net.cfg:7:1", "expected from 0 to below 1"),
    f"{NET}[maxpool]\nsize=2\npadding=9\n": ("net.cfg:8:1", "expected at most 1, the size less one"),
}


@pytest.mark.parametrize("text", CASES)
def test_mistakes_have_a_place(text: str) -> None:
    place, message = CASES[text]
    with pytest.raises(SourceError) as caught:
        compile_source(text, format="cfg", filename="net.cfg", backend="roofline")
    assert f"{place}: error:" in str(caught.value)
    assert message in str(caught.value)


def test_all_unknown_sections_are_named() -> None:
    with pytest.raises(SourceError) as caught:
        compile_source(f"{NET}[local]\n[foo]\n[crnn]\n", format="cfg", filename="net.cfg")
    assert [line[:11] for line in str(caught.value).splitlines() if "error" in line] == [
        "net.cfg:6:1",
        "net.cfg:7:1",
        "net.cfg:8:1",
    ]


def test_a_hardware_file_of_scale_sim_is_known() -> None:
    text = "[general]\nrun_name = x\n[architecture_presets]\nArrayHeight:    32\n"
    with pytest.raises(SourceError, match="this is a hardware file of SCALE-Sim, for --hw"):
        compile_source(text, format="cfg", filename="scale.cfg")


def test_what_has_no_effect_is_said() -> None:
    source = text_source(f"{NET}colour=1\nbatch=3\n{CONV}sizes=3\n", "cfg", "net.cfg")
    warnings = source.frontend.read(source, Request(inference=True)).warnings
    assert warnings == (
        "net.cfg:7:1: 'batch' is there twice; the first one counts, as in darknet",
        "net.cfg:6:1: 'colour' of [net] has no effect",
        "net.cfg:13:1: 'sizes' of [convolutional] has no effect",
    )


@pytest.mark.parametrize("defines", [{"batch": 0}, {"heigth": 3}, {"width": "x"}, {"batch": True}])
def test_wrong_sizes(defines: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        describe_file(FOLDER / "cifar.cfg", defines=defines)


def test_stopbackward_freezes_what_is_above() -> None:
    text = f"{NET}{CONV}{CONV}stopbackward=1\n{CONV}[avgpool]\n[softmax]\n"
    run = run_file(text_source(text, "cfg", "net.cfg"))
    assert sorted(run.gradients) == ["conv2.conv2d.bias", "conv2.conv2d.weight"]


def _damaged(text: str, rng: random.Random) -> str:
    lines = text.splitlines()
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(lines))
        match rng.randrange(6):
            case 0:
                del lines[at : at + rng.randint(1, 3)]
            case 1:
                lines.insert(at, rng.choice(lines))
            case 2:
                name = lines[at].partition("=")[0]
                lines[at] = (
                    f"{name}={rng.choice(['0', '-1', '7', '99999', '2147483647', '1e9', 'x', '', '1,2', '-3,-1'])}"
                )
            case 3:
                lines[at] = lines[at][: rng.randrange(len(lines[at]) + 1)]
            case 4:
                lines[at] = "".join(rng.choice("[]=,.-0987abc #;\0é") for _ in range(rng.randint(0, 9)))
            case _:
                other = rng.randrange(len(lines))
                lines[at], lines[other] = lines[other], lines[at]
        lines = lines or [""]
    return "\n".join(lines)


@pytest.mark.parametrize("name", ["yolov4-tiny", "resnet50", "cifar", "lstm", "gru", "yolov1", "vgg-16"])
def test_damaged_files_end_in_a_message(name: str) -> None:
    rng, text, refused = random.Random(name), open_source(FOLDER / f"{name}.cfg").text, 0
    for _ in range(25):
        source = text_source(_damaged(text, rng), "cfg", "net.cfg")
        try:
            source.frontend.read(source, Request(max_ops=2000))
        except (SourceError, UsageError):
            refused += 1
    assert refused


def test_many_sections_are_refused_early() -> None:
    source = text_source(NET + "[avgpool]\n" * 10_002, "cfg", "net.cfg")
    with pytest.raises(SourceError, match="more than"):
        source.frontend.read(source, Request())


@pytest.mark.parametrize("word", ["rnn", "gru"])
def test_too_many_steps_are_refused_early(word: str) -> None:
    text = f"[net]\ninputs=4\ntime_steps=1000000\n[{word}]\noutput=2\nhidden=2\n"
    with pytest.raises(SourceError, match="1,000,000 steps, which are written one by one"):
        compile_source(text, format="cfg", filename="net.cfg")


def test_every_verb_takes_the_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "net.cfg"
    path.write_text(f"{NET}{CONV}[maxpool]\nsize=2\nstride=2\n[avgpool]\n[softmax]\n")
    for words in (
        ["compile", "-b", "cycle", "-b", "roofline", "-b", "maestro"],
        ["check"],
        ["run"],
        ["import"],
        ["explain"],
        ["sweep", "--vary", "batch=1,2", "-b", "roofline"],
    ):
        assert run_command([words[0], str(path), *words[1:]]) == 0, words
    capsys.readouterr()
