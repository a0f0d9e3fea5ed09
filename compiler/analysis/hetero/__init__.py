"""
What a product of sparse matrices costs on units of several kinds, and how units share products.

`classes.py` names the kinds of units and the formats that they take, `product.py` is a product with its densities,
`work.py` counts the steps of a unit with their spread, `traffic.py` its bytes, `unit.py` makes time and energy of both,
`linear.py` shares a product of linear times exactly, `tiles.py` in whole tiles, `queue.py` shares many products.
"""
