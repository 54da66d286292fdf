"""The BLAS and LAPACK that NumPy is linked with: the addresses of their routines, and their limit of one thread.

The compiled part of NumPy that does linear algebra is asked for each routine. The system then looks for the name in the libraries
which that part needs, so it is found wherever the library is: in NumPy's own wheel, in a conda environment, in the system's folder.
Which name a routine has depends on how the library was built.
"""

from __future__ import annotations

import ctypes
import functools

import numpy.linalg._umath_linalg as numpys  # type: ignore[import-not-found, unused-ignore]
from threadpoolctl import ThreadpoolController

# the names that a routine may have; the first that exists is used: in NumPy's wheels; in OpenBLAS with integers of 64 bits; in
# Apple's library; in SciPy's build of OpenBLAS with integers of 32 bits; in all other libraries
NAMES = ("scipy_{}_64_", "{}_64_", "{}$NEWLAPACK$ILP64", "scipy_{}_", "{}_")
ROUTINES = ("dgemm", "dpotrf", "dsymm", "dsymv", "dsyr", "dsyrk", "dtrsm")


@functools.cache
def addresses() -> dict[str, int]:
    """The address of each of `ROUTINES`. Empty if one is not found: NumPy may be built without BLAS, or into the program."""
    try:
        library = ctypes.CDLL(numpys.__file__)
        return {routine: _address(library, routine) for routine in ROUTINES}
    except (AttributeError, OSError):
        return {}


def _address(library: ctypes.CDLL, routine: str) -> int:
    name = next((name for name in NAMES if hasattr(library, name.format(routine))), NAMES[-1])
    return ctypes.cast(library[name.format(routine)], ctypes.c_void_p).value or 0


def pin() -> None:
    """Limit this BLAS to one thread: for matrices of the sizes that learners use, two threads are 7 to 11 times slower than one."""
    loaded = ThreadpoolController().select(user_api="blas").lib_controllers
    for library in [each for each in loaded if _is_ours(each.dynlib)] or loaded:
        library.set_num_threads(1)


def _is_ours(library: ctypes.CDLL) -> bool:
    try:
        return _address(library, "dgemm") == addresses().get("dgemm")
    except AttributeError:
        return False
