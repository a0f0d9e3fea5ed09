"""The points of a sweep spread among processes: of this machine, or of a cluster."""
