"""Whatever a module in IR says, every verb answers with a result or with an NpucError that is no defect."""

import re
from random import Random

import pytest
from xdsl.dialects.func import FuncOp

from npuc.compiler import InternalError, NpucError, SourceError, compile_source, describe_source, run_source
from npuc.compiler.core.verify import SourceTexts, require_function, verify_module
from npuc.compiler.driver.passes import available_passes, read_pipeline, run_pipeline
from npuc.frontends.mlir import make_context, read_mlir
from tests.ir_mutants import changed, mutant
from tests.ir_programs import PROGRAMS, printed, text_of

PIPELINES = (
    "autodiff,lower-to-npu,schedule",
    "lower-to-npu,schedule,lower-tiles",
    "interleave{mode=fused},schedule",
    "set-precision{to=bf16},recompute",
    "parallelize{strategy=hypar devices=2},autodiff",
    "lower-tiles",
    "keep-resident",
)


def use(text: str, random: Random) -> None:
    """Use a module in one way; errors that are no answers come out."""
    try:
        match random.randrange(3):
            case 0:
                backend = random.choice(["cycle", "roofline", "maestro", "hetero"])
                compile_source(text, "mlir", "f.mlir", backend=backend, opt_level=random.randrange(4))
            case 1:
                data = describe_source(text, "mlir", "f.mlir")
                given = {
                    name: 0 for group in ("inputs", "labels") for name, one in data[group].items() if not one["shape"]
                }
                run_source(text, "mlir", "f.mlir", inputs=given)
            case _:
                module = read_mlir(text, "f.mlir")
                verify_module(module, SourceTexts())
                pipeline = read_pipeline(random.choice(PIPELINES), available_passes())
                run_pipeline(module, pipeline, make_context(), SourceTexts())
    except InternalError:
        raise
    except NpucError:
        pass


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_programs_that_are_mutated_are_right(name: str) -> None:
    module = read_mlir(text_of(name), "f.mlir")
    verify_module(module, SourceTexts())
    require_function(module)


@pytest.mark.parametrize("name", PROGRAMS)
def test_texts_that_differ_in_a_few_places(name: str) -> None:
    random = Random(name)
    for _ in range(3):
        use(mutant(text_of(name), random), random)


@pytest.mark.parametrize("name", PROGRAMS)
def test_modules_that_differ_in_a_few_places(name: str) -> None:
    random, module = Random(name), read_mlir(text_of(name), "f.mlir")
    for _ in range(6):
        other = changed(module, random)
        try:
            verify_module(other, SourceTexts())
        except SourceError:
            continue
        use(printed(other), random)


STEP = text_of("scheduled")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            'role = "dw"',
            'role = "nonsense"',
            'role is "nonsense", expected one of comm, dw, dx, dxdw',
        ),
        ('role = "dw"', "role = 3 : i64", "role is 3 : i64, expected one of"),
        ('layer = "h"', "layer = 3 : i64", "layer is 3 : i64, expected a string"),
        ('layer = "h"', "repeat = 0 : i64", "repeat is 0 : i64, expected an integer from 1"),
        ('layer = "h"', 'sparsity = "x"', 'sparsity is "x", expected two integers N:M'),
        ("relu(%0)", "gone(%0)", "kind is 'gone', expected the name of a train operation"),
        ("relu(%0)", "tanh_grad(%0)", "tanh_grad: Expected 2 operands, but got 1"),
        ("relu(%0)", "relu(%0) <{depth = 3 : i64}>", "relu: property 'depth' is not defined"),
        ("<{lr = 1.000000e-01 : f64, ", "<{", "sgd: property 'lr' expected"),
    ],
)
def test_what_a_verifier_says(old: str, new: str, message: str) -> None:
    assert old in STEP
    text = STEP.replace(old, new, 1)
    for verb in (compile_source, run_source, describe_source):
        with pytest.raises(SourceError, match=message) as caught:
            verb(text, "mlir", "f.mlir")
        assert caught.value.location is not None
        assert caught.value.location.file == "f.mlir"


@pytest.mark.parametrize(
    ("new", "message"),
    [
        ('kind = "nonsense"', 'unknown optimizer "nonsense", expected one of sgd'),
        ("lr = 1.000000e-01 : f64", "unknown optimizer without a kind, expected one of sgd"),
        ('kind = "adam", lr = 3 : i64', "train.optimizer has a wrong option 'lr'"),
        ('kind = "sgd"', "train.optimizer lacks lr"),
    ],
)
@pytest.mark.parametrize("backend", ["cycle", "roofline"])
def test_an_optimizer_that_means_nothing(new: str, message: str, backend: str) -> None:
    text = text_of("forward")
    wrong, count = re.subn(r"train\.optimizer = \{[^}]*\}", f"train.optimizer = {{{new}}}", text)
    assert count == 1
    with pytest.raises(SourceError, match=message) as caught:
        compile_source(wrong, "mlir", "f.mlir", backend=backend)
    assert caught.value.location is not None


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("scale 2.0", "scale 1.0e999", "'train.affine' scale is inf, expected a finite number"),
        ("arg_attrs = [{}]", "arg_attrs = [{}, {}]", "found attributes of 2 arguments, expected those of 1"),
        ("arg_attrs = [{}]", "arg_attrs = [{}], res_attrs = [{}, {}]", "attributes of 2 results, expected those of 1"),
    ],
)
def test_what_is_read_but_could_not_be_written(old: str, new: str, message: str) -> None:
    text = (
        '"func.func"() <{sym_name = "f", function_type = (tensor<2xf32>) -> tensor<2xf32>, arg_attrs = [{}]}> ({\n'
        "^bb0(%a: tensor<2xf32>):\n"
        '  %b = train.affine %a scale 2.0 {layer = "b"} : (tensor<2xf32>) -> tensor<2xf32>\n'
        '  "func.return"(%b) : (tensor<2xf32>) -> ()\n'
        "}) : () -> ()"
    )
    describe_source(text, "mlir", "f.mlir")
    with pytest.raises(SourceError, match=message) as caught:
        describe_source(text.replace(old, new), "mlir", "f.mlir")
    assert caught.value.location is not None


CONVOLUTION = text_of("npu images")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("+ r - 1", "+ r * 1152921504606846976 - 1", "reaches 2,305,843,009,213,693,958 positions"),
        ("+ r - 1", "+ r - 1152921504606846976", "positions from -1,152,921,504,606,846,976 on, expected at most"),
        ("+ r - 1", "+ r * 0 - 1", "coefficient of r is 0, expected at least 1"),
    ],
)
def test_index_maps_that_reach_far(old: str, new: str, message: str) -> None:
    assert old in CONVOLUTION
    for verb in (compile_source, run_source):
        with pytest.raises(SourceError, match=message) as caught:
            verb(CONVOLUTION.replace(old, new, 1), "mlir", "f.mlir")
        assert caught.value.location is not None


@pytest.mark.parametrize("pipeline", ["", "autodiff,lower-to-npu", "parallelize{strategy=dp devices=2}"])
def test_a_value_that_is_used_before_it_is_defined(pipeline: str) -> None:
    module = read_mlir(text_of("forward images"), "f.mlir")
    run_pipeline(module, read_pipeline(pipeline, available_passes()), make_context(), SourceTexts())
    verify_module(module, SourceTexts())
    func = next(op for op in module.ops if isinstance(op, FuncOp))
    used = next(op for op in func.body.block.ops if any(r.uses for r in op.results) and op.next_op is not None)
    used.detach()
    last = func.body.block.last_op
    assert last is not None
    func.body.block.insert_op_before(used, last)
    with pytest.raises(SourceError, match="before it is defined"):
        verify_module(module, SourceTexts())
