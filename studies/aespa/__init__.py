"""
Machines of several kinds of units for sparse products, against one unit of the same elements (AESPA).

`kernels.csv` are the products with the sources of their sizes, `settings.py` what is published, `study.py` computes.
"""
