"""onkel: online kernel learning. Nonlinear predictors from a stream, in one pass, with bounded memory and proven regret.

learner = onkel.PKAWV(features=(onkel.Standardize(), onkel.Taylor(degree=2)))     the settings: frozen
state = learner.init(dim=8)                                                       all of the memory
scores = learner.learn(state, X, y)                                               the score of each row before it is learnt
scores = learner.predict(state, X)                                                changes nothing
"""

from __future__ import annotations

TYPE_CHECKING = False  # type checkers know this name. Importing typing would double the time before Ctrl-C is handled

if TYPE_CHECKING:
    from typing import Any

    from onkel._names import *  # noqa: F403
    from onkel._names import __all__ as __all__
    from onkel.learners import *  # noqa: F403


def __getattr__(name: str) -> Any:
    """Import a folder of the package or a public name when it is first used, so that `onkel --help` need not wait for numba."""
    import importlib.util

    if name == "__version__":
        return importlib.import_module("importlib.metadata").version("onkel")
    if name.startswith("__") and name != "__all__":
        raise AttributeError(f"module 'onkel' has no attribute {name!r}")
    if importlib.util.find_spec(f"onkel.{name}"):
        return importlib.import_module(f"onkel.{name}")
    names = importlib.import_module("onkel._names")
    value = getattr(names, name, None)
    if value is None:
        hint = importlib.import_module("onkel.errors").did_you_mean(name, names.__all__, most=1)
        raise AttributeError(f"module 'onkel' has no attribute {name!r}" + (f"; {hint.strip()}" if hint else ""))
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The public names and the attributes that every module has, but not the names that only this file needs."""
    return sorted({*(name for name in globals() if name.startswith("__")), *__getattr__("__all__")})
