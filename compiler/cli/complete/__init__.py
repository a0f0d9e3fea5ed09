"""
Completion of a command line that is being typed, as the scripts of `npuc --install-completion` ask for it.

    _NPUC_COMPLETE=complete_bash COMP_WORDS="npuc compile --hw igo" COMP_CWORD=3 npuc      # igo-large, igo-small

A shell waits for it, so that it imports neither xDSL nor numpy: what the program knows is in `words.json`.
"""
