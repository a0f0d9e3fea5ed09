"""
What is kept on disk from one command to the next: whole results of commands, and results of searches.

    folder.py     where, and how much
    store.py      rows by key in one embedded database, the least recently used of which go first
    database.py   that database: its file and tables
    code.py       the code that made a row: another version answers nothing
    reads.py      the files that a command reads, and what else its result depends on
    command.py    results of commands by their arguments, environment and files
    replay.py     a command that is answered from there, before anything else is loaded
    streams.py    what a command writes, taken down
    frames.py     several texts of bytes in one

Nothing here may change a result: whatever is wrong with the store, a command does without it.

What `replay` needs imports the standard library alone, and little of it.
"""
