"""Groups that walk rows of a sample: the rows that each operation needs and computes in a band, and its body."""
