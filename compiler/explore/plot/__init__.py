"""
Pictures of tables: the points of a sweep, or the operations of reports, as lines, bars, a heat map or a Pareto front.

    metrics.py   what can be drawn of a row, with its unit
    table.py     rows with keys and numbers, of a sweep or of reports, also from the files that hold them
    choice.py    which kind of picture keys and metrics mean, and its panels
    draw.py      the picture: titles, panels, and the axes of one
    marks.py     what stands in a panel: lines, bars, cells, points
"""
