"""
The `cycle` backend: a systolic array with a double-buffered SPM and a finite DRAM channel.

    contract.py   matrix work: npu.contract, costed by its schedule
    stream.py     everything else that moves data: vector work, moves, windows as matrices
    backend.py    the backend itself
"""
