"""
What operations and passes mean, read from their definitions: for `npuc explain --op`, `--pass`, and the pages of docs.

    page = operation_page("npu.contract")         # operations.py: fields, what is verified, an example that parses
    print(operation_text(page, width=100))        # text.py for a terminal, markdown.py for docs

Nothing here is written twice: summaries and examples are docstrings, shape rules are those of `infer` and `verify_`.
Only what a field's name stands for has a table (meanings.py), since most names mean the same in many operations.
"""
