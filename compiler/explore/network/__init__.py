"""
Networks between devices, chosen for a program: what bandwidth of which level is worth.

    program.py     a source as a step: its work, and what it sends along the levels of any network
"""
