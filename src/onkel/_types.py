"""Short names for the types of arrays."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]  # one dimension, float64
Matrix = NDArray[np.float64]  # two dimensions, float64, C order
Counts = NDArray[np.int64]
Cube = NDArray[np.float64]  # three dimensions, float64, C order
