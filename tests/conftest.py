"""Settings of the whole suite."""

import os

# Tests run side by side, a worker a core: linear algebra on several threads would only get in their way.
for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")
