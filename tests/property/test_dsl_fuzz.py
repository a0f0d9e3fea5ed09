"""Whatever the text, the network language answers with a module or with an NpucError."""

from hypothesis import given, settings
from hypothesis import strategies as st

from npuc.compiler.core.errors import NpucError
from npuc.compiler.layers import get_functions
from npuc.frontends import read_source
from npuc.frontends.dsl.blocks import library_names
from npuc.frontends.dsl.calls import BUILT_IN

MARKS = ['"same"', '"', "\n", "#", "é", "\0", "$"]
TOKENS = (
    "network block import input labels loss output optimizer error frozen return for in if else and or not true false "
    "none ( ) [ ] { } , ; : = == != < <= > >= + - * ** / // % .. 0 1 2 7 64 0.5 1e-3 9223372036854775807 "
    "x h n f t f32 i32 bool relu linear conv2d matmul batch_norm softmax concat reshape transpose embedding dropout "
    "max_pool avg_pool flatten cross_entropy mse param shape len min max sqrt sgd adam axis weight kernel features "
    "type sum exp where multi_head_attention lstm gru_cell"
).split()

PROGRAM = """block f(x, n=2) {
  for i in 0..n { x = relu(linear(x, 8)) }
  if n > 1 and not n == 3 { x = x + 1.5 * x } else { x = gelu(x) }
  return x
}
network t(batch=4, sizes=[8, 2], scale=0.5) {
  input x: f32[batch, 3, 8, 8]
  labels y: i32[batch]
  c = conv2d(x, 4, kernel=3, stride=2, padding=1)
  p = flatten(max_pool(relu(batch_norm(c)), kernel=2))
  w = param([8, 8], fill=0.5)
  h = frozen linear(f(linear(p, sizes[0]), n=1), weight=w) * scale
  q = concat([h, reshape(h, [batch, -1])], axis=1)
  a, b = shape(h)
  logits = linear(q, sizes[1] if a < b else 10 ** 2 // 3)
  loss cross_entropy(logits, y) + mse(softmax(logits), 0 * logits)
  optimizer adam(lr=1e-3)
}
"""
WORDS = PROGRAM.replace("(", " ( ").replace(")", " ) ").replace(",", " , ").replace("\n", " \n ").split(" ")


def accept(text: str) -> None:
    """Read a text in both modes; errors other than NpucError come out."""
    for training in (True, False):
        message = ""
        try:
            read_source(text, filename="f", training=training, max_ops=300).verify()
        except NpucError as error:
            message = error.render()
        assert message == "" or message.startswith(("f:", "npuc: error: network parameter"))


def test_the_program_that_is_mutated_is_right():
    read_source(PROGRAM).verify()


@given(st.text(max_size=200))
@settings(max_examples=100)
def test_any_text(text: str):
    accept(text)


@given(st.binary(max_size=200))
@settings(max_examples=50)
def test_any_bytes(data: bytes):
    accept(data.decode("latin-1"))


@given(st.lists(st.sampled_from([*TOKENS, *MARKS]), max_size=60))
@settings(max_examples=200)
def test_tokens_in_any_order(tokens: list[str]):
    accept(" ".join(tokens))
    accept("network t() {\n input x: f32[4, 8]\n" + " ".join(tokens) + "\n loss mse(x, x)\n}")


@given(
    st.lists(st.tuples(st.integers(0, len(WORDS) - 1), st.sampled_from([*TOKENS, *MARKS])), min_size=1, max_size=3),
    st.booleans(),
)
@settings(max_examples=200)
def test_words_of_a_program_replaced_or_inserted(changes: list[tuple[int, str]], insert: bool):
    words: list[str] = list(WORDS)
    for place, token in changes:
        words[place : place + (not insert)] = [token]
    accept(" ".join(words))


@given(st.integers(0, len(PROGRAM)), st.integers(1, 40))
@settings(max_examples=100)
def test_a_piece_of_a_program_cut_out(start: int, length: int):
    accept(PROGRAM[:start] + PROGRAM[start + length :])


VALUES = st.sampled_from(
    [
        *"x w ids 0 1 2 -1 3 8 0.5 -2.0 1e300 1e-9 100000 true none f32 [] [1] [2,3] [-1,4] [0] [x,x] [[1]]".split(),
        '"same"',
        '"a"',
    ]
)
CALLS = st.sampled_from(sorted({*get_functions(), *library_names(), *BUILT_IN}))


@given(CALLS, st.lists(VALUES, max_size=6), st.sampled_from(["[4, 8]", "[2, 3, 6, 6]", "[]", "[5]"]))
@settings(max_examples=400)
def test_calls_with_any_arguments(function: str, arguments: list[str], shape: str):
    head = f"network t() {{ input x: f32{shape}; input ids: i32[3]; w = param([4, 8]); u = [x, ids, w]"
    accept(f"{head}; h = {function}({', '.join(arguments)}); k = h; output x; loss mse(x, x) }}")
