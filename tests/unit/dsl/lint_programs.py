"""Programs to lint, and what is found in them."""

from npuc.frontends.dsl.lint import lint_source


def found(text: str, *, filename: str = "f", defines: dict[str, int | str] | None = None) -> list[str]:
    """The findings as `line:col rule`."""
    findings = lint_source(text, filename, defines=dict(defines or {}))
    return [f"{f.location.line}:{f.location.col} {f.rule}" for f in findings]


def block(body: str, parameters: str = "x") -> str:
    """A block; its body begins in line 2."""
    return f"block f({parameters}) {{\n{body}\n}}\n"


def network(body: str, parameters: str = "", blocks: str = "") -> str:
    """A network over x [4, 3, 8, 8], v [4, 8] and labels y [4] that has a loss; its body begins in line 6."""
    head = f"network n({parameters}) {{\n  input x: f32[4, 3, 8, 8]\n  input v: f32[4, 8]\n  labels y: i32[4]"
    last = "  loss cross_entropy(linear(v, 3), y) + mse(x, x)"
    return f"{blocks}\n{head}\n{body}\n{last}\n}}\n"
