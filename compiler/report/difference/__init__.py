"""
The difference of two reports: which layers are the same, what got faster or slower, and why.

    document.py       the difference as data, `npuc.diff/1`
    subsequence.py    longest common and longest increasing subsequences
    align.py          which layer of one report is which of the other
    amounts.py        what rows cost together, and the differences of that
    settings.py       what differs between the two compilations: machine, passes, types, parameters
    totals.py         both steps as a whole
    between.py        what is asked why it differs
    reasons.py        why a part of a layer differs, by what its rows say
    tensors.py        of these reasons what bytes say
    rates.py          what rates of the machine say
    compare.py        the difference of two reports
    read.py           reports in files
    sentences.py      its verdict and notes, in words
    as_csv.py         its parts of layers as CSV
"""
