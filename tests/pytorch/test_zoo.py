"""Popular models of libraries, at full size and without memory for weights, become training steps."""

from __future__ import annotations

import pytest

from npuc.compiler import UsageError, compile_file
from npuc.frontends.torch import from_module
from tests.pytorch.zoo import MODELS, zoo_model

SEVERAL = {"googlenet": "logits", "inception_v3": "logits", "deeplabv3_resnet50": "out", "fcn_resnet50": "out"}
"""The output that is trained, of models that have several."""


@pytest.mark.long
@pytest.mark.parametrize("name", MODELS)
def test_a_popular_model_is_a_training_step(name: str) -> None:
    try:
        model, inputs, named = zoo_model(name)
    except (ImportError, RuntimeError) as error:  # torchvision's own operators may be missing beside torch's build
        pytest.skip(f"cannot load the library: {error}")
    source = from_module(model.train(), inputs, kwargs=named)
    result = SEVERAL.get(name.rpartition(".")[2].rpartition(":")[2])
    try:
        report = compile_file(source, backend="roofline", result=result)
    except UsageError as error:
        pytest.fail(str(error))
    parameters = sum(one.numel() for one in model.parameters())
    assert report.totals.macs > parameters
