"""
The meaning of an operation as operations: its layer's numpy program, run on arrays that write down what is done.

A layer says what its operation computes by a function on numpy arrays (`Layer.evaluate`). Run on `Traced` arrays, which
implement numpy's protocols for functions of other array types (NEP 13, NEP 18, NEP 35), the same function yields the
primitives that compute it, in the same order: the meaning is written once. JAX traces programs in this way (Frostig,
Johnson, Leary, "Compiling machine learning programs via high-level tracing", SysML 2018).
"""
