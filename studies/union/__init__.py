"""
One mapper under the constraints of several machines, by two cost models (Jeong et al., "Union", PACT 2021).

    layers.dsl    the contractions
    settings.py   the array, the constraints, the models
    study.py      the best mapping of each contraction under each of them, and the findings
    view.py       tables, JSON, CSV
    plot.py       cycles over a free mapping's
"""
