"""
Chunks of collectives over the levels of a network (Rashidi et al., "Themis", ISCA 2022), repeated.

    settings.py    the networks, sizes and programs of the paper, and what is published
    programs.py    steps of npuc's own programs (dlrm.dsl, samples:gpt2)
    study.py       the measurements and the claims
    view.py        tables, JSON, CSV
"""
