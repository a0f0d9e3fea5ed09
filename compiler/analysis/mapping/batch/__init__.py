"""The analysis of many mappings of one layer at once, in numpy: equal to that of one at a time, and much faster."""
