"""
What zeros of operands save on an array: expected work by density, and counted work of a mask.

    factor.py       the result of both: mean, spread, standard error
    binomial.py     the distribution of the nonzeros of a slice
    procrustes.py   columns that each hold a slice of the weights, with and without pairing of halves
    tensordash.py   lanes that each choose among operands of a small window
    window.py       that window, simulated on masks
    products.py     what formats leave of a program's products
    masks.py        masks of a density, pairs of operands of a product
"""
