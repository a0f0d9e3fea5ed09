"""
Pages: one HTML file that opens anywhere, without a network, of sections that are typed.

    model.py    the sections: facts, tables, and charts of a table's columns
    step.py     the page of a compiled step, from its reports
    difference.py  the page of a difference of two steps
    result.py   pages of results that are rows
    write.py    the file: the data of a page, and the script and styles in `assets/` that show it
"""
