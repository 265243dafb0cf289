"""Measurements that are run by hand, never by the tests.

Small matrices gain nothing from several BLAS threads and lose much when the machine is busy, so one is used.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
