"""
What is shown of reports in a notebook and by `repr`.

    report.py    a report as a table of layers, several side by side
    amounts.py   totals, in a few words, as a bar of phases, and in full

`npuc.compiler.core.display` makes text and HTML of it.
"""
