"""The blocks that ship with npuc against PyTorch: results and all gradients, in float64, to 1e-9 relative."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.func import functional_call

from npuc.compiler.driver.run import run_source
from npuc.compiler.layers.base import Array
from tests.calls.close import assert_close

torch.set_num_threads(1)
FEW = settings(max_examples=12)
Values = Mapping[str, Tensor]


def text_of(value: object) -> str:
    """A Python value as the language writes it."""
    return (
        {True: "true", False: "false", None: "none"}[value] if value is None or isinstance(value, bool) else str(value)
    )


def judge(
    tensors: Mapping[str, Sequence[int]],
    body: str,
    theirs: Callable[[Values], Sequence[Tensor]],
    inputs: Mapping[str, Array] = {},
) -> None:
    """
    Compare statements of the language with PyTorch.

    `tensors` are the shapes of float operands, by name, which are weights, so that their gradients count. The results
    are the variables r0, r1, …; the loss is the sum of the cubes of their elements. `inputs` are masks.
    """
    seed = int(np.random.default_rng(0).integers(1000))
    lines = [f"{name} = param({list(shape)}, f64, bound=1)" for name, shape in tensors.items()]
    lines += [f"input {name}: {'bool' if a.dtype == bool else 'f64'}{list(a.shape)}" for name, a in inputs.items()]
    count = 1 + sum(f"r{i}" in body for i in range(1, 3))
    lines += [body, *(f"output r{i}; loss sum(r{i} * r{i} * r{i})" for i in range(count))]
    source = "network t() {\n" + "\n".join(lines) + "\n}"
    run = run_source(source, inputs=dict(inputs), dtype="float64", seed=seed)
    values = {name: torch.tensor(np.asarray(v, np.float64), requires_grad=True) for name, v in run.params.items()}
    constants = {name: torch.tensor(array) for name, array in inputs.items()}
    results = theirs({**values, **constants})
    loss = torch.stack([(r**3).sum() for r in results]).sum()
    torch.autograd.backward(loss)
    for number, result in enumerate(results):
        assert_close(np.asarray(run.outputs[f"r{number}"]), result.detach().numpy(), f"result {number}")
    assert set(run.gradients) == set(values)
    for name, value in values.items():
        assert value.grad is not None, name
        assert_close(run.gradients[name], value.grad.numpy(), f"gradient of {name}")


# ---- attention


def masks(data: st.DataObject, shape: tuple[int, ...]) -> Array | None:
    """No mask, a boolean one in whose rows something is true, or one to add; its leading axes may be left out or 1."""
    kind = data.draw(st.sampled_from(["none", "bool", "float"]))
    if kind == "none":
        return None
    random = np.random.default_rng(data.draw(st.integers(0, 99)))
    lead = shape[data.draw(st.integers(0, 2)) : 2]
    size = [data.draw(st.sampled_from([1, s])) for s in lead] + list(shape[2:])
    if kind == "float":
        return random.standard_normal(size)
    mask = random.random(size) < 0.5
    mask[..., 0] = True
    return mask


@FEW
@given(data=st.data())
def test_scaled_dot_product_attention(data: st.DataObject) -> None:
    draw = data.draw
    batch, kv_heads, group = draw(st.integers(1, 2)), draw(st.integers(1, 2)), draw(st.integers(1, 3))
    m, n, size, width = (draw(st.integers(1, 5)) for _ in range(4))
    heads = kv_heads * group
    mask = masks(data, (batch, heads, m, n))
    causal = draw(st.booleans())
    scale = draw(st.sampled_from([None, 0.5]))
    seen = None
    if mask is not None:
        seen = torch.tensor(mask)
        if causal:
            lower = torch.ones(m, n, dtype=torch.bool).tril()
            seen = seen & lower if mask.dtype == bool else seen.masked_fill(~lower, -torch.inf)

    def theirs(v: Values) -> list[Tensor]:
        return [
            F.scaled_dot_product_attention(
                v["q"], v["k"], v["v"], seen, is_causal=causal and mask is None, scale=scale, enable_gqa=group > 1
            )
        ]

    shapes = {"q": (batch, heads, m, size), "k": (batch, kv_heads, n, size), "v": (batch, kv_heads, n, width)}
    options = f"causal={text_of(causal)}, scale={text_of(scale)}, mask={'mask' if mask is not None else 'none'}"
    judge(
        shapes,
        f"r0 = scaled_dot_product_attention(q, k, v, {options})",
        theirs,
        {} if mask is None else {"mask": mask},
    )


def in_proj(v: Values, suffix: str) -> list[Tensor]:
    """The weights or biases of q, k and v as PyTorch has them; of a joint layer all in one."""
    if "r0.qkv.weight" in v:
        return [v["r0.qkv.weight"].T if suffix == "weight" else v["r0.qkv.bias"]]
    return [v[f"r0.{name}.{suffix}"].T for name in "qkv"] if suffix == "weight" else [v[f"r0.{n}.bias"] for n in "qkv"]


@FEW
@given(data=st.data())
def test_multi_head_attention(data: st.DataObject) -> None:
    draw = data.draw
    batch, m, n, heads, size = (draw(st.integers(1, 3)) for _ in range(5))
    width = heads * size
    bias, causal, cross = draw(st.booleans()), draw(st.booleans()), draw(st.booleans())
    joint = not cross and draw(st.booleans())
    n, source = (n, draw(st.integers(1, 4))) if cross else (m, width)
    mask = np.random.default_rng(0).random((m, n)) < 0.6 if draw(st.booleans()) else None
    hidden = torch.zeros(m, n, dtype=torch.bool)
    if mask is not None:
        mask[:, 0] = True
        hidden = ~torch.tensor(mask)
    if causal:
        hidden = hidden | torch.ones(m, n, dtype=torch.bool).triu(1)
    module = torch.nn.MultiheadAttention(
        width, heads, bias=bias, kdim=source, vdim=source, batch_first=True, dtype=torch.float64
    )

    def theirs(v: Values) -> list[Tensor]:
        weights = in_proj(v, "weight")
        state = {"out_proj.weight": v["r0.out.weight"].T}
        if source == width:
            state["in_proj_weight"] = torch.cat(weights)
        else:
            state |= {f"{name}_proj_weight": w for name, w in zip("qkv", weights, strict=True)}
        if bias:
            state |= {"in_proj_bias": torch.cat(in_proj(v, "bias")), "out_proj.bias": v["r0.out.bias"]}
        memory = v["memory"] if cross else v["x"]
        return [functional_call(module, state, (v["x"], memory, memory), {"attn_mask": hidden})[0]]

    shapes = {"x": (batch, m, width)} | ({"memory": (batch, n, source)} if cross else {})
    options = f"bias={text_of(bias)}, causal={text_of(causal)}" + (", memory=memory" if cross else "")
    options += f", joint={text_of(joint)}" + (", mask=mask" if mask is not None else "")
    body = f"r0 = multi_head_attention(x, {heads}, {options})"
    judge(shapes, body, theirs, {} if mask is None else {"mask": mask})


def rotated(x: Tensor, base: float, interleaved: bool, offset: int, frequency: Tensor | None = None) -> Tensor:
    """Rotary embedding by complex numbers."""
    length, size = x.shape[-2:]
    if frequency is None:
        frequency = base ** (-2.0 * torch.arange(size // 2, dtype=torch.float64) / size)
    turn = torch.polar(
        torch.ones(length, size // 2, dtype=torch.float64),
        torch.outer(torch.arange(offset, offset + length, dtype=torch.float64), frequency),
    )
    pairs = x.unflatten(-1, (-1, 2)) if interleaved else torch.stack(x.chunk(2, -1), -1)
    turned = torch.view_as_real(torch.view_as_complex(pairs.contiguous()) * turn)
    return turned.flatten(-2) if interleaved else torch.cat([turned[..., 0], turned[..., 1]], -1)


@FEW
@given(
    lead=st.lists(st.integers(1, 3), max_size=2),
    length=st.integers(1, 5),
    half=st.integers(1, 4),
    base=st.sampled_from([10000.0, 100.0]),
    interleaved=st.booleans(),
    offset=st.integers(0, 7),
)
def test_rotary_embedding(lead: list[int], length: int, half: int, base: float, interleaved: bool, offset: int) -> None:
    body = f"r0 = rotary_embedding(x, base={base}, interleaved={text_of(interleaved)}, offset={offset})"
    judge({"x": [*lead, length, 2 * half]}, body, lambda v: [rotated(v["x"], base, interleaved, offset)])


@FEW
@given(
    lead=st.lists(st.integers(1, 3), max_size=2),
    length=st.integers(1, 5),
    half=st.integers(1, 4),
    interleaved=st.booleans(),
    scaled=st.booleans(),
    by_heads=st.booleans(),
)
def test_rotary_embedding_with_other_frequencies(
    lead: list[int], length: int, half: int, interleaved: bool, scaled: bool, by_heads: bool
) -> None:
    if scaled:  # as published with Llama 3.1
        plain = 50.0 ** (-torch.arange(half, dtype=torch.float64) / half)
        wave = 2 * torch.pi / plain
        smooth = (40 / wave - 0.5) / (3 - 0.5)
        between = (1 - smooth) * plain / 8 + smooth * plain
        frequency = torch.where(wave > 40 / 0.5, plain / 8, torch.where(wave < 40 / 3, plain, between))
        options = "base=50.0, scaling=[8, 0.5, 3, 40]"
    else:
        frequency = torch.linspace(1.0, 0.1, half, dtype=torch.float64)
        options = f"frequency={frequency.tolist()}"
    options += f", interleaved={text_of(interleaved)}" + (", axis=-3" if by_heads else "")

    def theirs(v: Values) -> list[Tensor]:
        x = v["x"].transpose(-2, -3) if by_heads else v["x"]
        found = rotated(x, 1.0, interleaved, 0, frequency)
        return [found.transpose(-2, -3) if by_heads else found]

    shape = [*lead, length, 2, 2 * half] if by_heads else [*lead, length, 2 * half]
    judge({"x": shape}, f"r0 = rotary_embedding(x, {options})", theirs)


@FEW
@given(
    kv_heads=st.integers(1, 2),
    group=st.integers(1, 3),
    length=st.integers(1, 4),
    half=st.integers(1, 2),
    interleaved=st.booleans(),
)
def test_grouped_heads_with_rotary_positions(
    kv_heads: int, group: int, length: int, half: int, interleaved: bool
) -> None:
    heads, size, width = kv_heads * group, 2 * half, 5

    def theirs(v: Values) -> list[Tensor]:
        q, k, u = (
            (v["x"] @ v[f"r0.{name}.weight"]).unflatten(-1, (count, size)).transpose(1, 2)
            for name, count in (("q", heads), ("k", kv_heads), ("v", kv_heads))
        )
        q, k = rotated(q, 100.0, interleaved, 0), rotated(k, 100.0, interleaved, 0)
        context = F.scaled_dot_product_attention(q, k, u, is_causal=True, enable_gqa=True)
        return [context.transpose(1, 2).flatten(2) @ v["r0.out.weight"]]

    options = f"kv_heads={kv_heads}, size={size}, rotary=true, base=100, interleaved={text_of(interleaved)}"
    body = f"r0 = multi_head_attention(x, {heads}, causal=true, bias=false, {options})"
    judge({"x": (2, length, width)}, body, theirs)


def test_attention_shares_weights() -> None:
    def theirs(v: Values) -> list[Tensor]:
        x = v["x"]
        for _ in range(2):
            q, k, u = (x @ v[name] for name in ("wq", "wk", "wv"))
            x = F.scaled_dot_product_attention(q[:, None], k[:, None], u[:, None])[:, 0] @ v["wo"]
        return [x]

    shapes = {"x": (2, 3, 4)} | {name: (4, 4) for name in ("wq", "wk", "wv", "wo")}
    call = "multi_head_attention(h, 1, bias=false, weight=[wq, wk, wv, wo])"
    judge(shapes, f"h = x; for i in 0..2 {{ h = {call} }}; r0 = h", theirs)


# ---- recurrent layers

WEIGHTS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
GATES = {"rnn": 1, "gru": 3, "lstm": 4}
LAYERS = {"rnn": torch.nn.RNN, "gru": torch.nn.GRU, "lstm": torch.nn.LSTM}
CELLS = {"rnn": torch.nn.RNNCell, "gru": torch.nn.GRUCell, "lstm": torch.nn.LSTMCell}


def as_torch(weight: Tensor, *, transposed: bool = False) -> Tensor:
    """A weight [in, out] (`transposed`: [out, in]) or bias as PyTorch has it."""
    return weight.T if weight.dim() == 2 and not transposed else weight


@pytest.mark.parametrize("kind", list(LAYERS))
@FEW
@given(data=st.data())
def test_recurrent_layers(kind: str, data: st.DataObject) -> None:
    draw = data.draw
    batch, length, features, hidden = (draw(st.integers(1, 3)) for _ in range(4))
    layers, bidirectional, bias = draw(st.integers(1, 3)), draw(st.booleans()), draw(st.booleans())
    given_states, relu = draw(st.booleans()), kind == "rnn" and draw(st.booleans())
    transposed = draw(st.booleans())
    names = ["h", "c"] if kind == "lstm" else ["h"]
    options = {"num_layers": layers, "bidirectional": bidirectional, "bias": bias, "batch_first": True}
    module = LAYERS[kind](
        features, hidden, dtype=torch.float64, **options, **({"nonlinearity": "relu"} if relu else {})
    )

    def theirs(v: Values) -> list[Tensor]:
        state: dict[str, Tensor] = {}
        for layer in range(layers):
            for direction in range(1 + bidirectional):
                for name in WEIGHTS[: 4 if bias else 2]:
                    ours = f"r0.{layer}.{'reverse.' if direction else ''}{name}"
                    state[f"{name}_l{layer}{'_reverse' if direction else ''}"] = as_torch(
                        v[ours], transposed=transposed
                    )
        start = [v[name] for name in names] if given_states else []
        output, last = functional_call(module, state, (v["x"], *([tuple(start)] if len(start) == 2 else start)))
        return [output, *last] if kind == "lstm" else [output, last]

    shapes = {"x": (batch, length, features)}
    if given_states:
        shapes |= {name: (layers * (1 + bidirectional), batch, hidden) for name in names}
    arguments = f"layers={layers}, bidirectional={text_of(bidirectional)}, bias={text_of(bias)}, states=true"
    arguments += f", transpose_weight={text_of(transposed)}"
    arguments += "".join(f", {name}={name}" for name in names) * given_states + ", nonlinearity=relu" * relu
    results = "r0, r1, r2" if kind == "lstm" else "r0, r1"
    judge(shapes, f"{results} = {kind}(x, {hidden}, {arguments})", theirs)


@pytest.mark.parametrize("kind", list(CELLS))
@pytest.mark.parametrize(("bias", "transposed"), [(True, False), (False, True)])
def test_recurrent_cells(kind: str, bias: bool, transposed: bool) -> None:
    module = CELLS[kind](3, 4, bias=bias, dtype=torch.float64)

    def theirs(v: Values) -> list[Tensor]:
        state = {name: as_torch(v[f"r0.{name}"], transposed=transposed) for name in WEIGHTS[: 4 if bias else 2]}
        found = functional_call(module, state, (v["x"], (v["h"], v["c"]) if kind == "lstm" else v["h"]))
        return list(found) if kind == "lstm" else [found]

    shapes = {"x": (2, 3), "h": (2, 4)} | ({"c": (2, 4)} if kind == "lstm" else {})
    states = "h, c" if kind == "lstm" else "h"
    call = f"{kind}_cell(x, {states}, bias={text_of(bias)}, transpose_weight={text_of(transposed)})"
    judge(shapes, f"{'r0, r1' if kind == 'lstm' else 'r0'} = {call}", theirs)


@pytest.mark.parametrize("kind", list(CELLS))
@pytest.mark.parametrize("count", [2, 4])
def test_recurrent_weights_are_shared(kind: str, count: int) -> None:
    """Two calls with the same weights, one of them by steps of a cell."""
    hidden, bias = 2, count == 4
    module = LAYERS[kind](3, hidden, bias=bias, batch_first=True, dtype=torch.float64)
    columns = GATES[kind] * hidden
    weights = dict(zip(WEIGHTS, ((3, columns), (hidden, columns), (columns,), (columns,)), strict=True))
    names = WEIGHTS[:count]

    def theirs(v: Values) -> list[Tensor]:
        state = {f"{name}_l0": as_torch(v[name]) for name in names}
        return [functional_call(module, state, (v["x"],))[0], functional_call(module, state, (2 * v["x"],))[0]]

    shared = ", ".join(f"{name}={name}" for name in names)
    step = f"h, c = lstm_cell(s, h, c, {shared}, bias={text_of(bias)})"
    if kind != "lstm":
        step = f"h = {kind}_cell(s, h, {shared}, bias={text_of(bias)})"
    body = f"""r0 = {kind}(x, {hidden}, weight=[[{", ".join(names)}]], bias={text_of(bias)})
      h = expand(arange(1, dtype=f64), [2, {hidden}]); c = h; outputs = []
      for s in unbind(2 * x, 1) {{ {step}; outputs = outputs + [h] }}
      r1 = stack(outputs, 1)"""
    judge({"x": (2, 3, 3)} | {name: weights[name] for name in names}, body, theirs)


# ---- the others


@FEW
@given(groups=st.integers(1, 3), each=st.integers(1, 3), rest=st.lists(st.integers(1, 3), min_size=1, max_size=2))
def test_channel_shuffle(groups: int, each: int, rest: list[int]) -> None:
    def theirs(v: Values) -> list[Tensor]:
        image = v["x"] if len(rest) == 2 else v["x"][..., None]
        return [F.channel_shuffle(image, groups).reshape(v["x"].shape)]

    judge({"x": [2, groups * each, *rest]}, f"r0 = channel_shuffle(x, {groups})", theirs)


@FEW
@given(count=st.integers(2, 5), size=st.integers(1, 4), itself=st.booleans())
def test_dot_interaction(count: int, size: int, itself: bool) -> None:
    def theirs(v: Values) -> list[Tensor]:
        stacked = torch.stack([v[f"f{i}"] for i in range(count)], 1)
        rows, columns = torch.tril_indices(count, count, 0 if itself else -1)
        return [torch.bmm(stacked, stacked.transpose(1, 2))[:, rows, columns]]

    names = [f"f{i}" for i in range(count)]
    body = f"r0 = dot_interaction([{', '.join(names)}], self_interaction={text_of(itself)})"
    judge({name: (2, size) for name in names}, body, theirs)


@FEW
@given(lead=st.lists(st.integers(1, 3), max_size=2), generalised=st.booleans())
def test_box_iou(lead: list[int], generalised: bool) -> None:
    def theirs(v: Values) -> list[Tensor]:
        corners = [torch.cat([v[c] - v[s].exp() / 2, v[c] + v[s].exp() / 2], -1) for c, s in ("ab", "cd")]
        ours, others = (c.unbind(-1) for c in corners)
        areas = [(right - left) * (bottom - top) for left, top, right, bottom in (ours, others)]
        ends = [tuple(zip(*(c.chunk(2, -1)[i].unbind(-1) for c in corners), strict=True)) for i in range(2)]
        widths = [torch.minimum(*ends[1][i]) - torch.maximum(*ends[0][i]) for i in range(2)]
        spans = [torch.maximum(*ends[1][i]) - torch.minimum(*ends[0][i]) for i in range(2)]
        both = widths[0].clamp(min=0) * widths[1].clamp(min=0)
        union, hull = areas[0] + areas[1] - both, spans[0] * spans[1]
        return [both / union - ((hull - union) / hull if generalised else 0.0)]

    body = "boxes = concat([a, exp(b)], axis=-1); others = concat([c, exp(d)], axis=-1)"
    body += f"; r0 = box_iou(boxes, others, generalised={text_of(generalised)})"
    judge({name: [*lead, 2] for name in "abcd"}, body, theirs)
