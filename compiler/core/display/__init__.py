"""
How results show themselves: `repr`, `str`, the HTML of a notebook, and tables of pandas.

    class Result(Displayed):
        def shown(self) -> Shown: return Shown("Result", "of net", "1.2 ms", columns=..., rows=...)

    shown.py      what is shown of a result, as data
    displayed.py  `Displayed`, the methods of a class that has it
    words.py      names of others, cut and made readable; one line, or several
    fragment.py   the same as a fragment of HTML, without scripts, of bounded size
    svg.py        small pictures in it: shares of a whole, points, a line
    frame.py      rows as a table of pandas, which is optional
    progress.py   a bar while a long call runs, where somebody looks on

Nothing here is loaded before a result is shown.
"""
