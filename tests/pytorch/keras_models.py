"""
What Keras computes: models with small weights, their JSON, inputs and outputs.

    KERAS_BACKEND=jax python -m tests.pytorch.keras_models      writes tests/oracle/data/keras/
    KERAS_BACKEND=jax python -m tests.pytorch.keras_models layers        the layers alone

Needs Keras 3 and JAX, whose poolings and resizing are TensorFlow's, not npuc. Weights are stored by the
names and in the order of axes that npuc has.
"""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parents[1] / "oracle" / "data" / "keras"
NETWORKS = (
    *("VGG16", "ResNet50", "MobileNet", "MobileNetV2", "DenseNet121", "InceptionV3", "Xception", "EfficientNetB0"),
    "NASNetMobile",
)


def models():
    """The models by name: builders, each with a list of inputs' shapes."""
    import keras
    from keras import layers as L

    def of(shape, *stack, dtype="float32"):
        def build():
            x = first = keras.Input(shape, dtype=dtype, name="x")
            for layer in stack:
                x = layer(x)
            return keras.Model(first, x)

        return build

    image, line, cube = (7, 6, 4), (9, 3), (4, 5, 6, 2)
    cases = {}
    for padding in ("same", "valid"):
        for stride in (1, 2, 3):
            o = {"padding": padding, "strides": stride}
            cases[f"conv2d {padding} {stride}"] = of(image, L.Conv2D(5, (3, 2), **o))
            cases[f"conv1d {padding} {stride}"] = of(line, L.Conv1D(4, 4, **o, activation="relu"))
            cases[f"depthwise {padding} {stride}"] = of(image, L.DepthwiseConv2D(3, depth_multiplier=2, **o))
            cases[f"max {padding} {stride}"] = of(image, L.MaxPooling2D(3, **o))
            cases[f"average {padding} {stride}"] = of(image, L.AveragePooling2D((2, 3), **o))
            for kernel in (2, 3, 4):
                cases[f"transpose {padding} {stride} {kernel}"] = of(image, L.Conv2DTranspose(3, kernel, **o))
    cases |= {
        "conv3d": of(cube, L.Conv3D(3, 2, padding="same", strides=2)),
        "conv dilated": of(image, L.Conv2D(2, 3, padding="same", dilation_rate=2, use_bias=False)),
        "conv groups": of(image, L.Conv2D(6, 3, groups=2)),
        "conv causal": of(line, L.Conv1D(4, 3, padding="causal", dilation_rate=2)),
        "conv first": of(
            (4, 6, 5), L.Conv2D(3, 3, data_format="channels_first"), L.Flatten(data_format="channels_first")
        ),
        "separable": of(image, L.SeparableConv2D(5, 3, depth_multiplier=2, padding="same", activation="tanh")),
        "separable 1d": of(line, L.SeparableConv1D(5, 3)),
        "transpose spare": of(image, L.Conv2DTranspose(3, 3, strides=2, padding="same", output_padding=1)),
        "transpose 1d": of(line, L.Conv1DTranspose(3, 4, strides=2, padding="same")),
        "norms": of(image, L.BatchNormalization(), L.LayerNormalization(), L.GroupNormalization(2)),
        "norm halves": of(image, L.Conv2D(4, 1), L.BatchNormalization(scale=False), L.BatchNormalization(center=False)),
        "norm first": of((4, 6, 5), L.BatchNormalization(axis=1)),
        "norm fixed": of(image, L.Conv2D(4, 1), L.BatchNormalization(trainable=False)),
        "norm plain": of(line, L.LayerNormalization(scale=False), L.LayerNormalization(axis=[1, 2], center=False)),
        "norm unit": of(line, L.UnitNormalization()),
        "norm rms": of(line, L.RMSNormalization()),
        "flatten": of(image, L.Conv2D(3, 2), L.Flatten(), L.Dense(5, activation="softmax")),
        "reshape": of(image, L.Conv2D(3, 2), L.Reshape((5, -1)), L.Permute((2, 1)), L.Dense(3)),
        "squeeze": of(
            image, L.GlobalAveragePooling2D(keepdims=True), L.Conv2D(3, 1), L.Reshape((3,)), L.Reshape((1, 1, 3))
        ),
        "excite": of((4,), L.Reshape((1, 1, 4)), L.Conv2D(3, 1, activation="swish"), L.Flatten()),
        "repeat": of((4,), L.RepeatVector(3), L.Dense(2)),
        "border": of(image, L.ZeroPadding2D(((1, 0), (2, 3))), L.Cropping2D(((0, 2), (1, 0))), L.UpSampling2D((2, 3))),
        "border 1d": of(line, L.ZeroPadding1D((2, 1)), L.Cropping1D(1), L.UpSampling1D(2)),
        "border 3d": of(cube, L.ZeroPadding3D(1), L.Cropping3D(((1, 0), (0, 1), (1, 1))), L.UpSampling3D((1, 2, 1))),
        "bilinear": of(image, L.UpSampling2D(2, interpolation="bilinear")),
        "resize": of(image, L.Resizing(9, 5, interpolation="nearest")),
        "crop": of(image, L.CenterCrop(4, 3)),
        "globals": of(image, L.GlobalMaxPooling2D(), L.Dense(2, use_bias=False)),
        "global 1d": of(line, L.GlobalAveragePooling1D()),
        "global 3d": of(cube, L.GlobalAveragePooling3D()),
        "max 1d": of(line, L.MaxPooling1D(3, padding="same")),
        "average 3d": of(cube, L.AveragePooling3D(2, padding="same")),
        "prelu": of(image, L.PReLU()),
        "prelu shared": of(image, L.Conv2D(3, 2), L.PReLU(shared_axes=[1, 2])),
        "prelu vector": of((5,), L.PReLU()),
        "relus": of(
            image, L.ReLU(6.0), L.ReLU(2.0, 0.1, 0.5), L.LeakyReLU(), L.ELU(0.5), L.ReLU(3.0), L.ReLU(None, 0.2)
        ),
        "softmax": of(image, L.Conv2D(3, 1), L.Softmax(axis=1), L.Softmax()),
        "dropouts": of(image, L.Dropout(0.5), L.SpatialDropout2D(0.5), L.GaussianNoise(1.0), L.GaussianDropout(0.5)),
        "scaling": of(image, L.Rescaling(0.5, 1.0), L.Conv2D(4, 1), L.Rescaling([1.0, 2.0, 0.5, 4.0])),
        "normalization": of(image, L.Normalization(), L.Normalization(mean=[0.5] * 4, variance=[4.0] * 4)),
        "embedding": of((5,), L.Embedding(7, 3), dtype="int32"),
        "einsum": of(line, L.EinsumDense("abc,cde->abde", output_shape=(None, 2, 3), bias_axes="de")),
        "lstm": of(line, L.LSTM(4, return_sequences=True), L.LSTM(3)),
        "gru": of(line, L.GRU(4, return_sequences=True, go_backwards=True), L.GRU(3, use_bias=False)),
        "gru before": of(line, L.GRU(3, reset_after=False)),
        "rnn": of(line, L.SimpleRNN(4, return_sequences=True, activation="relu"), L.SimpleRNN(3)),
        "lstm other": of(line, L.LSTM(3, activation="relu", recurrent_activation="hard_sigmoid")),
        "rnn other": of(line, L.SimpleRNN(3, activation="softsign", use_bias=False)),
        "distributed": of((3, 5, 5, 2), L.TimeDistributed(L.Conv2D(3, 2)), L.TimeDistributed(L.Flatten())),
        "inner": of(
            (4,),
            keras.Sequential([keras.Input((4,)), L.Dense(3, activation="relu"), L.Dense(2)], name="inner"),
            L.Dense(2),
        ),
    }
    for mode in ("concat", "sum", "mul", "ave"):
        cases[f"both {mode}"] = of(line, L.Bidirectional(L.LSTM(3, return_sequences=True), merge_mode=mode))
    cases["both last"] = of(line, L.Bidirectional(L.GRU(3)))
    cases["both other"] = of(line, L.Bidirectional(L.GRU(3, reset_after=False, return_sequences=True)))
    for name in (
        *(
            "relu6",
            "sigmoid",
            "tanh",
            "softplus",
            "softsign",
            "elu",
            "selu",
            "celu",
            "gelu",
            "swish",
            "mish",
            "exponential",
        ),
        *("hard_sigmoid", "hard_silu", "hard_tanh", "hard_shrink", "soft_shrink", "tanh_shrink", "log_sigmoid"),
        *("leaky_relu", "log_softmax", "squareplus", "sparse_plus", "linear"),
    ):
        cases[f"activation {name}"] = of(line, L.Activation(name))

    def several(shapes, build, dtype="float32"):
        def made():
            inputs = [keras.Input(shape, name=f"x{k}", dtype=dtype) for k, shape in enumerate(shapes)]
            return keras.Model(inputs, build(*inputs))

        return made

    for name in ("Add", "Multiply", "Average", "Maximum", "Minimum", "Concatenate"):
        cases[name.lower()] = several([image, image, image], lambda *x, n=name: getattr(L, n)()(list(x)))
    conv = L.Conv2D(4, 3, padding="same")
    cases |= {
        "subtract": several([line, line], lambda x, y: L.Subtract()([x, y])),
        "mixed": several([image, image], lambda x, y: L.Concatenate(axis=2)([L.Conv2D(4, 1)(x), y])),
        "dot": several([line, line], lambda x, y: L.Dot(axes=(2, 2))([x, y])),
        "dot unit": several([(5,), (5,)], lambda x, y: L.Dot(axes=1, normalize=True)([x, y])),
        "shared": several([image, image], lambda x, y: L.Add()([conv(x), conv(y)])),
        "attention": several([line, (5, 3)], lambda q, v: L.Attention(use_scale=True)([q, v])),
        "additive": several([line, (5, 3)], lambda q, v: L.AdditiveAttention()([q, v])),
        "attention causal": several([line], lambda q: L.Attention()([q, q], use_causal_mask=True)),
        "heads": several([line, (5, 6)], lambda q, v: L.MultiHeadAttention(2, 4)(q, v)),
        "heads causal": several(
            [line], lambda q: L.MultiHeadAttention(3, 2, output_shape=5)(q, q, use_causal_mask=True)
        ),
        "heads shared": several([line], lambda q: L.GroupQueryAttention(2, 4, 2)(q, q)),
        "operations": several([image, image], lambda x, y: keras.ops.relu(L.Conv2D(4, 1)(x) * 2.0 + y - 1.0)),
        "states": several([line, (4,), (4,)], lambda x, h, c: L.LSTM(4)(x, initial_state=[h, c])),
        "two": several([line], lambda x: [L.Dense(2, name="a")(x), L.Dense(3, name="b")(x)]),
    }
    return cases


def weights_of(layer, path):
    """The weights of a layer by npuc's names."""
    import keras
    from keras import layers as L

    found = {}

    def numpy(variable):
        return np.array(keras.ops.convert_to_numpy(variable))

    own = {w.path.split("/")[-1]: numpy(w) for w in layer.weights}
    if isinstance(layer, keras.Model):
        for inner in layer.layers:
            found |= weights_of(inner, f"{path}.{inner.name}" if path else inner.name)
    elif isinstance(layer, L.Bidirectional):
        found |= weights_of(layer.forward_layer, f"{path}.forward") | weights_of(
            layer.backward_layer, f"{path}.backward"
        )
    elif isinstance(layer, L.TimeDistributed):
        found |= weights_of(layer.layer, f"{path}.step")
    elif isinstance(layer, (L.SeparableConv1D, L.SeparableConv2D)):
        found[f"{path}.depthwise.weight"] = _depthwise(own["depthwise_kernel"])
        found[f"{path}.pointwise.weight"] = _conv(own["pointwise_kernel"])
        found[f"{path}.pointwise.bias"] = own["bias"]
    elif isinstance(layer, L.DepthwiseConv2D):
        found |= {f"{path}.weight": _depthwise(own["kernel"]), f"{path}.bias": own["bias"]}
    elif "kernel" in own and "Transpose" in type(layer).__name__:
        k = own["kernel"]
        found[f"{path}.weight"] = k.transpose(k.ndim - 1, k.ndim - 2, *range(k.ndim - 2))
        found[f"{path}.bias"] = own["bias"]
    elif "kernel" in own and type(layer).__name__.startswith("Conv"):
        found[f"{path}.weight"] = _conv(own["kernel"])
        found |= {f"{path}.bias": own["bias"]} if "bias" in own else {}
    elif isinstance(layer, (L.LSTM, L.GRU, L.SimpleRNN)):
        found |= _recurrent(layer, path, own)
    elif isinstance(layer, (L.MultiHeadAttention, L.GroupQueryAttention)):
        for part, inner in (("query", "query"), ("key", "key"), ("value", "value"), ("out", "output")):
            dense = getattr(layer, f"_{inner}_dense")
            k = numpy(dense.kernel)
            found[f"{path}.{part}.weight"] = k.reshape(-1, k.shape[-1]) if part == "out" else k.reshape(k.shape[0], -1)
            found[f"{path}.{part}.bias"] = numpy(dense.bias).reshape(-1)
    elif isinstance(layer, L.BatchNormalization):
        axes = layer.input_spec.ndim - 2
        whole = layer.scale and layer.center and layer.trainable
        wide = lambda a: a if whole else a.reshape(-1, *[1] * axes)  # noqa: E731
        found[f"{path}.running_mean"] = own["moving_mean"] if layer.trainable else wide(own["moving_mean"])
        found[f"{path}.running_var"] = own["moving_variance"] if layer.trainable else wide(own["moving_variance"])
        if layer.scale:
            found[f"{path}.{'weight' if whole else 'scale'}"] = wide(own["gamma"])
        if layer.center:
            found[f"{path}.{'bias' if whole else 'shift'}"] = wide(own["beta"])
    elif isinstance(layer, L.PReLU):
        whole = own["alpha"]
        found[f"{path}.weight"] = whole.reshape(-1) if set(whole.shape[:-1]) <= {1} else whole
    elif isinstance(layer, L.RMSNormalization):
        found[f"{path}.weight"] = own["scale"]
    else:
        names = {"kernel": "weight", "gamma": "weight", "beta": "bias", "embeddings": "weight", "alpha": "weight"}
        for name, value in own.items():
            if name != "count" and not name.startswith("seed"):
                found[f"{path}.{names.get(name, name)}"] = value if "scale" != name or value.ndim else value.reshape(1)
    return found


def _conv(k):
    return k.transpose(k.ndim - 1, k.ndim - 2, *range(k.ndim - 2))


def _depthwise(k):
    *sizes, channels, times = k.shape
    moved = k.transpose(k.ndim - 2, k.ndim - 1, *range(k.ndim - 2))
    return moved.reshape(channels * times, 1, *sizes)


def _recurrent(layer, path, own):
    gates = {"LSTM": [0, 1, 2, 3], "GRU": [1, 0, 2], "SimpleRNN": [0]}[type(layer).__name__]
    units = layer.units

    def ordered(array):
        return np.concatenate([array[..., g * units : (g + 1) * units] for g in gates], -1)

    found = {f"{path}.weight": ordered(own["kernel"]), f"{path}.recurrent": ordered(own["recurrent_kernel"])}
    if "bias" in own:
        bias = ordered(own["bias"])
        found[f"{path}.bias"] = bias[0] if bias.ndim == 2 else bias
        if bias.ndim == 2:
            found[f"{path}.recurrent_bias"] = bias[1]
    return found


def case(build, rng):
    """A model with small weights, an input, and what comes out."""
    import keras

    model = build()
    for weight in model.weights:
        if "seed" in weight.path or "count" in weight.path:
            continue
        low = 4 if "variance" in weight.path else -8
        weight.assign(rng.integers(low, 9, weight.shape) / 8)
    for layer in model.layers:
        if isinstance(layer, keras.layers.Normalization):
            layer.finalize_state()
    inputs = {}
    for one in model.inputs:
        shape = (2, *one.shape[1:])
        whole = "int" in one.dtype
        inputs[one.name] = rng.integers(0, 7, shape) if whole else rng.integers(-8, 9, shape) / 4
    out = model(list(inputs.values()) if len(inputs) > 1 else next(iter(inputs.values())), training=False)
    outputs = out if isinstance(out, list) else [out]
    return {
        "model": _reduced(json.loads(model.to_json())),
        "parameters": int(model.count_params()),
        "inputs": {name: value.tolist() for name, value in inputs.items()},
        "weights": {name: value.tolist() for name, value in weights_of(model, "").items()},
        "outputs": [np.round(keras.ops.convert_to_numpy(one).astype(float), 6).tolist() for one in outputs],
    }


def _reduced(value):
    """A model without what says how weights begin."""
    if isinstance(value, dict):
        drop = ("_initializer", "_regularizer", "_constraint")
        return {k: _reduced(v) for k, v in value.items() if not k.endswith(drop)}
    return [_reduced(one) for one in value] if isinstance(value, list) else value


def main():
    """Write the cases, and the networks of keras.applications with their parameters."""
    import keras

    FOLDER.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    found = {}
    for name, build in models().items():
        try:
            found[name] = case(build, rng)
        except Exception as error:  # a layer that this Keras or backend lacks
            print(f"{name}: {error!r}"[:300], file=sys.stderr)
    _write("layers", found)
    for name in NETWORKS if len(sys.argv) < 2 else ():
        model = getattr(keras.applications, name)(weights=None)
        _write(name, {"parameters": int(model.count_params()), "model": _reduced(json.loads(model.to_json()))})


def _write(name, value):
    text = json.dumps(value, separators=(",", ":")).encode()
    (FOLDER / f"{name}.json.gz").write_bytes(gzip.compress(text, 9, mtime=0))


if __name__ == "__main__":
    main()
