"""The search of schedules on several cores: partitions of a nest, the search of their parts, near ties."""
