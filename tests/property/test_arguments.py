"""Wrong arguments of every function of the language end in an error at the call that names the function."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npuc.compiler.core.errors import SourceError, SourceErrors
from npuc.compiler.layers import get_functions
from npuc.frontends import read_source
from npuc.frontends.dsl.binding import signature_of
from tests.calls import all_calls
from tests.calls.source import program

VALUES = (
    *(
        "-1",
        "0",
        "1",
        "2",
        "7",
        "1.5",
        "-0.5",
        "1e300",
        "99999999999",
        "true",
        "none",
        '"same"',
        '"x"',
        "word",
        "other",
    ),
    *("[]", "[1]", "[0, 0]", "[1, 2]", "[-1, 3]", "[1, 2, 3, 4, 5]", "[1.5]", "[true]", '["a"]', "[other]", "[[1]]"),
)


@pytest.mark.parametrize("name", all_calls())
@settings(max_examples=10)
@given(data=st.data())
def test_an_argument_is_taken_or_refused_at_its_place(name: str, data: st.DataObject) -> None:
    call = all_calls()[name](data)
    read_source(program(call), filename="net.dsl", training=False).verify()
    formals = [formal.name for formal in signature_of(get_functions()[call.function]).formals]
    text = program(call, {data.draw(st.sampled_from(formals)): data.draw(st.sampled_from(VALUES))})
    try:
        read_source(text, filename="net.dsl", training=False).verify()
    except (SourceError, SourceErrors) as error:
        (first, *rest) = error.errors if isinstance(error, SourceErrors) else [error]
        assert not rest, text
        assert first.location is not None, text
        assert first.location.line == text.count("\n") - 2, text
        assert call.function in first.message or "unknown name 'word'" in first.message, (text, first.message)
