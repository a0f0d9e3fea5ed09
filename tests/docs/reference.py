"""
The pages docs/dialects.md, docs/passes.md and docs/operators.md, from the definitions of operations and passes, and the
meanings of operators of imported graphs.

    python -m tests.docs.reference       writes them anew
"""

from collections.abc import Iterator

from npuc.compiler.driver.passes import available_passes
from npuc.compiler.reference.markdown import operation_markdown, pass_markdown
from npuc.compiler.reference.operations import operation_page, own_operations
from npuc.compiler.reference.operators import FORMS, OPAQUE, OperatorPage, operator_pages
from npuc.compiler.reference.passes import MACHINE, NETWORK, example_of, pass_named, pass_page
from npuc.compiler.transforms import get_all_passes
from npuc.dialects import get_all_dialects
from tests.docs.pages import FOLDER

DIALECTS = """\
# Operations

The operations of npuc's dialects: what they mean, what their fields hold, what is verified beside the types, and an
example that parses. `npuc explain --op NAME` shows one of them; `npuc opt` reads and writes them. What every `train`
operation has beside its own properties is in [architecture.md](architecture.md): a layer, a role, a place in the
source.
"""
ABOUT = {
    "train": "Tensor operations of forward and backward pass and of optimizers, on static shapes.",
    "dist": "Exchanges between the devices of a mesh. The examples run on a mesh of 2 x 3 devices.",
    "npu": "Work of an NPU: loop nests with schedules, vector work, data movement, and the tile operations of loops.",
    "stablehlo": "The operations of OpenXLA's StableHLO that JAX exports; its specification "
    "says what they mean exactly. They are read and written in MLIR's generic form, as `npuc opt` prints them.",
    "chlo": "The functions of elements, and `top_k`, that JAX exports beside StableHLO.",
}
PASSES = f"""\
# Passes

What each pass of `-p` does, its options, and what it changes in an example. `npuc explain --pass NAME` shows one of
them, `npuc list passes` lists them; [writing-a-pass.md](writing-a-pass.md) adds one. The examples show the operations
that differ, without their types. They run on the machine `{MACHINE}`,
on a network that stands there, or else on this one:

```dsl
{NETWORK}```
"""
OPERATORS = """\
# Operators of imported graphs

What becomes of each operator of PyTorch (`.pt2`) and ONNX in [imported models](importing.md), found in the sources of
the readers. `npuc list operators` shows the same, with `--json` as JSON. The functions are those of the
[language](language.md).

"""
FORMATS = {
    "pt2": ("PyTorch", "A name without overload, such as `aten.add`, stands for all overloads; so does one in place."),
    "onnx": ("ONNX", "Opsets 7 to the newest; older forms of an operator are read as the newest one."),
}


def dialect_lines() -> Iterator[str]:
    """The page of operations, line by line."""
    yield from DIALECTS.splitlines()
    known = own_operations()
    for dialect in ABOUT:
        names = sorted(name for name in known if name.startswith(f"{dialect}."))
        yield from ("", f"## {dialect}", "", ABOUT[dialect], "")
        yield ", ".join(f"[`{name.partition('.')[2]}`](#{name.replace('.', '')})" for name in names)
        yield ""
        for name in names:
            yield from operation_markdown(operation_page(known[name]))


def pass_lines() -> Iterator[str]:
    """The page of passes, line by line."""
    yield from PASSES.splitlines()
    yield ""
    available = available_passes()
    for name in get_all_passes():
        page = pass_page(pass_named(name, available))
        assert page.pipeline is not None, f"{name} has no EXAMPLE"
        yield from pass_markdown(page, example_of(page, available))


def operator_lines() -> Iterator[str]:
    """The page of operators, line by line."""
    yield from OPERATORS.splitlines()
    yield from (f"- {form}: {meaning}" for form, meaning in FORMS.items())
    yield from ("", "What is refused may be [priced](importing.md#operators-without-a-meaning) by `--opaque`:", "")
    yield from (f"- {word}: {meaning}" for word, meaning in OPAQUE.items())
    pages = operator_pages()
    for format, (title, note) in FORMATS.items():
        own = [page for page in pages if page.format == format]
        counts = ", ".join(f"{sum(page.form == form for page in own)} {form}" for form in FORMS)
        yield from ("", f"## {title}", "", f"{note} {counts}.", "")
        yield from ("| operator | form | functions of the language, or the reason | `--opaque` |", "|---|---|---|---|")
        yield from (f"| `{page.name}` | {page.form} | {_shown(page)} | {page.opaque} |" for page in own)


def _shown(page: OperatorPage) -> str:
    if page.reason:
        return page.reason
    names, others = (", ".join(f"`{name}`" for name in part) for part in (page.functions, page.others))
    return names + (f"; else {others}" if others else "")


def texts() -> dict[str, str]:
    """The pages by name."""
    assert set(ABOUT) == {name for name, factory in get_all_dialects().items() if list(factory().operations)}
    return {name: "\n".join(lines()).rstrip() + "\n" for name, lines in PAGES.items()}


PAGES = {"dialects": dialect_lines, "passes": pass_lines, "operators": operator_lines}

if __name__ == "__main__":
    for name, text in texts().items():
        (FOLDER / f"{name}.md").write_text(text, encoding="utf-8")
