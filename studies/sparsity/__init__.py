"""What sparse operands gain in training steps of one network: dense, N:M, unstructured on two machines made for it."""
