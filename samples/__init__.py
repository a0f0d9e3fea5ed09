"""Networks that ship with npuc (`samples:NAME`); files whose names begin with `_` are parts that these import."""
