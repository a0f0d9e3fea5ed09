"""Compilers of others that take what npuc emits: what they compute is compared with npuc's interpreter."""
