"""
Programs that differ between machines only in schedules and in how products run together: they are lowered once.

`watch` keeps a program as it is before the first pass that looks at the machine, `operations` finds its classes of
equal operations, and `program` schedules one of each class for a machine, so that costs are those of classes.
"""
