"""
Random networks to learn the fusion of layers from, in npuc's language; none is a sample of npuc.

Chains of convolutions with pooling and residual blocks, perceptrons, and encoders of transformers. All ranges of sizes
are our choice.
"""

from random import Random


def random_network(random: Random) -> str:
    """The text of a network; a quarter each perceptrons and encoders, the rest convolutions."""
    kind = random.choice((_convolutions, _convolutions, _perceptron, _encoder))
    return kind(random)


def _convolutions(random: Random) -> str:
    batch, image = random.choice((4, 8, 16, 24, 32)), random.choice((8, 16, 24, 32, 56))
    channels = random.choice((8, 16, 24, 32, 64))
    lines = [f"h0 = relu(conv2d(x, {channels}, kernel=3, padding=1))"]
    size, now = image, "h0"
    for number in range(1, random.randint(3, 6)):
        before, now = f"h{number - 1}", f"h{number}"
        norm = random.random() < 0.5
        choice = random.random()
        if choice < 0.35:
            kernel = random.choice((1, 3, 3, 5))
            lines.append(f"{now} = relu({_conv(before, channels, kernel, norm)})")
        elif choice < 0.55:
            inner = max(8, channels // 4)
            lines.append(f"a{number} = relu({_conv(before, inner, 1, norm)})")
            lines.append(f"b{number} = relu({_conv(f'a{number}', inner, 3, norm)})")
            lines.append(f"{now} = relu({_conv(f'b{number}', channels, 1, norm)} + {before})")
        elif choice < 0.7:
            inner = channels * random.choice((2, 4, 6))
            lines.append(f"a{number} = relu6({_conv(before, inner, 1, norm)})")
            lines.append(f"b{number} = relu6({_conv(f'a{number}', inner, 3, norm, inner)})")
            lines.append(f"{now} = {_conv(f'b{number}', channels, 1, norm)} + {before}")
        elif choice < 0.8:
            lines.append(f"{now} = relu({_conv(before, channels, 3, norm)} + {before})")
        elif size % 2 == 0 and size >= 8:
            channels, size = min(256, channels * random.choice((1, 2))), size // 2
            lines.append(f"{now} = relu({_conv(f'max_pool({before}, kernel=2, stride=2)', channels, 3, norm)})")
        else:
            lines.append(f"{now} = relu({_conv(before, channels, 1, norm)})")
    lines.append(f"logits = linear(flatten(global_avg_pool({now})), 10)")
    return _text(f"f32[batch, 3, {image}, {image}]", "i32[batch]", batch, lines, random)


def _conv(source: str, channels: int, kernel: int, norm: bool, groups: int = 1) -> str:
    grouped = f", groups={groups}" if groups > 1 else ""
    text = f"conv2d({source}, {channels}, kernel={kernel}, padding={kernel // 2}{grouped})"
    return f"batch_norm({text})" if norm else text


def _perceptron(random: Random) -> str:
    batch, width = random.choice((8, 16, 32, 64, 128)), random.choice((64, 128, 256, 512, 1024))
    lines: list[str] = []
    before = "x"
    for number in range(random.randint(2, 8)):
        function = random.choice(("relu", "gelu", "tanh"))
        wide = random.choice((64, 128, 256, 512, 1024))
        layer = f"{function}(linear({before}, {wide}))"
        lines.append(f"h{number} = {random.choice((layer, layer, f'layer_norm({layer})'))}")
        before = f"h{number}"
    lines.append(f"logits = linear({before}, 10)")
    return _text(f"f32[batch, {width}]", "i32[batch]", batch, lines, random)


def _encoder(random: Random) -> str:
    batch, length = random.choice((4, 8, 16, 32)), random.choice((16, 32, 64, 128))
    heads, head = random.choice((1, 2, 4, 8)), random.choice((16, 32, 64))
    width = heads * head
    lines: list[str] = []
    before = "x"
    for number in range(random.randint(1, 2)):
        lines.append(f"t{number} = layer_norm({before} + multi_head_attention({before}, {heads}))")
        lines.append(f"f{number} = linear(gelu(linear(t{number}, {width * random.choice((2, 4))})), {width})")
        lines.append(f"h{number} = layer_norm(t{number} + f{number})")
        before = f"h{number}"
    lines.append(f"logits = linear({before}, 10)")
    return _text(f"f32[batch, {length}, {width}]", f"i32[batch, {length}]", batch, lines, random)


def _text(inputs: str, labels: str, batch: int, lines: list[str], random: Random) -> str:
    optimizer = random.choice(("sgd(lr=0.1)", "sgd(lr=0.1, momentum=0.9)", "adam(lr=0.001)"))
    body = "\n  ".join(
        [f"input x: {inputs}", f"labels y: {labels}", *lines, "loss cross_entropy(logits, y)", f"optimizer {optimizer}"]
    )
    return f"network random(batch={batch}) {{\n  {body}\n}}\n"
