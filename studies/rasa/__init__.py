"""
Tile instructions on the matrix engine of a processor, one after another or overlapped (Jeong et al., DAC 2021).

    settings.py   the engine, its designs, the networks, and what is published
    products.py   the products of a network, and the instructions that they are
    study.py      cycles of each product by each design, and the findings
    view.py       tables, JSON, CSV
    plot.py       reductions by network, and by the reuse of weights
"""
