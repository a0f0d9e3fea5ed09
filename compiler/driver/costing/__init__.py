"""What passes are told of the work of a backend, for plans and buckets of the least time."""
