"""Programs of JAX as networks: StableHLO as text or bytecode, and what `jax.export` serialised."""
