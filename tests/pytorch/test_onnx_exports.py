"""Models that PyTorch exports as ONNX files: outputs, losses and gradients are PyTorch's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("onnxscript")

from npuc.compiler import compile_file, run_file  # noqa: E402

nn: Any = torch.nn
pytestmark = pytest.mark.slow


class Recurrent(nn.Module):
    """A recurrent layer and a linear one after it."""

    def __init__(self, kind: Any, **options: Any):
        super().__init__()
        self.layer = kind(6, 5, batch_first=True, **options)
        self.head = nn.Linear(5 * (2 if options.get("bidirectional") else 1), 4)

    def forward(self, x: Any) -> Any:
        return self.head(self.layer(x)[0])


class Encoder(nn.Module):
    """Tokens and their places, two layers of attention, a head."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(11, 8), nn.Embedding(6, 8)
        layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, activation="gelu", batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(8, 11, bias=False)

    def forward(self, ids: Any) -> Any:
        x = self.words(ids) + self.places(torch.arange(ids.shape[1]))
        return self.head(self.layers(x))


def convolutional() -> Any:
    return nn.Sequential(
        *(nn.Conv2d(3, 4, 3, padding=1, bias=False), nn.GroupNorm(2, 4), nn.SiLU()),
        *(nn.ConvTranspose2d(4, 4, 2, stride=2), nn.Hardswish(), nn.AvgPool2d(3, 2, 1)),
        *(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 5)),
    )


def tokens() -> Any:
    return torch.randint(0, 11, (2, 6))


def steps() -> Any:
    return torch.randn(2, 4, 6)


MODELS: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "convolutional": (convolutional, lambda: torch.randn(2, 3, 6, 6)),
    "lstm": (lambda: Recurrent(nn.LSTM), steps),
    "bidirectional lstm": (lambda: Recurrent(nn.LSTM, num_layers=2, bidirectional=True), steps),
    "gru": (lambda: Recurrent(nn.GRU, bidirectional=True), steps),
    "encoder": (Encoder, tokens),
}


def exported(name: str, path: Path) -> tuple[Any, Any]:
    """A model in double precision and an input, written to a file."""
    torch.manual_seed(0)
    make, draw = MODELS[name]
    model, x = make().double().eval(), draw()
    for parameter in model.parameters():  # the exporter keeps equal ones once
        nn.init.normal_(parameter, std=0.3)
    x = x.double() if x.is_floating_point() else x
    torch.onnx.export(model, (x,), path, dynamo=True, verbose=False, external_data=False, input_names=["x"])
    return model, x


@pytest.mark.parametrize("name", MODELS)
def test_an_exported_model_trains_as_in_pytorch(name: str, tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    model, x = exported(name, path)
    y = model(x)
    target = torch.randn_like(y)
    loss = ((y - target) ** 2).mean()
    loss.backward()
    inputs = {"x": x.numpy(), "y": target.numpy()}
    run = run_file(path, inputs=inputs, loss="mse", dtype="float64")
    assert run.loss == pytest.approx(loss.item(), rel=1e-9)
    own = {n: p.grad.numpy() for n, p in model.named_parameters()}
    compared = 0
    for parameter, found in run.gradients.items():
        wanted = own.get(parameter)
        if wanted is not None:
            compared += 1
            turned = wanted if wanted.shape == found.shape else wanted.T
            np.testing.assert_allclose(found, turned, rtol=1e-8, atol=1e-12, err_msg=parameter)
    assert compared >= 2
    total = sum(float((g**2).sum()) for g in own.values())
    assert sum(float((g**2).sum()) for g in run.gradients.values()) == pytest.approx(total, rel=1e-8)


@pytest.mark.parametrize("name", MODELS)
def test_an_exported_model_takes_another_batch(name: str, tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    model, x = exported(name, path)
    more = torch.cat([x, x[:1]])
    run = run_file(path, inputs={"x": more.numpy()}, inference=True, defines={"batch": 3}, dtype="float64")
    (found,) = run.outputs.values()
    np.testing.assert_allclose(found, model(more).detach().numpy(), rtol=1e-9, atol=1e-12)
    once, twice = (compile_file(path, backend="cycle", loss="mse", defines={"batch": n}) for n in (2, 4))
    assert once.totals.macs is not None
    assert twice.totals.macs == 2 * once.totals.macs
