"""The lines below the table of a report: a module for each subject, gathered in `lines`."""
