"""Packages that onkel needs only for some of its features. If one is missing, the error says how to install it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from onkel.errors import MissingPackage

PACKAGES = {
    "arrow": "pyarrow", "download": "pooch", "excel": "python-calamine", "plot": "matplotlib", "river": "river",
    "sklearn": "scikit-learn", "serve": "starlette",
}  # fmt: skip
IMPORTED_AS = {"scikit-learn": "sklearn", "python-calamine": "python_calamine"}


@contextmanager
def extra(name: str, work: str) -> Iterator[None]:
    """A block of imports from the extra of this name. If a package is missing, the error says that `work` needs it.

    >>> with extra("plot", "drawing pictures"):
    ...     import matplotlib
    """
    package = PACKAGES[name]
    try:
        yield
    except ImportError as error:
        if (error.name or "").split(".")[0] != IMPORTED_AS.get(package, package):
            raise
        raise MissingPackage(f"{work} requires {package}, which is not installed: pip install 'onkel[{name}]'") from None
