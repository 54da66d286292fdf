"""The public names of onkel: where each is found, and on which page of the reference it stands.

A page holds modules, in reading order; a module brings its own header and the public names that it defines. So a new learner,
kernel, metric or bound is on its page without being listed here. `missing` says which public names stand on no page.
"""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import onkel
from onkel import learners
from onkel.report.catalogue import grouped

PACKAGES = (
    "onkel",
    "onkel.combine",
    "onkel.data",
    "onkel.dictionary",
    "onkel.estimators",
    "onkel.features",
    "onkel.kernels",
    "onkel.losses",
    "onkel.measure",
    "onkel.measure.bounds",
    "onkel.persist",
    "onkel.report",
)
BESIDES = {  # public, in modules without a list of their public names
    "onkel.protocol": ("Learner",),
    "onkel.losses": ("Loss",),
    "onkel.model": ("Answers", "State", "Stream"),
    "onkel.measure.adversaries": ("greedy", "blocks"),
    "onkel.measure.drift": ("of_errors", "of_mistakes", "Drift", "Change"),
}


@dataclass(frozen=True)
class Page:
    """A page of the reference: its file, its heading, one sentence, and the modules whose names it holds."""

    slug: str
    title: str
    about: str
    modules: tuple[str, ...]


@dataclass(frozen=True)
class Section:
    """Pages under one heading of the table of contents."""

    title: str
    pages: tuple[Page, ...]


def public() -> dict[str, Any]:
    """Every public object under its shortest path, such as onkel.PKAWV or onkel.measure.RMSE."""
    found: dict[str, Any] = {}
    seen: set[int] = set()
    for package in [*PACKAGES, *BESIDES]:
        module = importlib.import_module(package)
        names = BESIDES.get(package, ()) if package not in PACKAGES else (*_listed(module), *BESIDES.get(package, ()))
        for name in names:
            value = getattr(module, name)
            if not inspect.ismodule(value) and id(value) not in seen:
                seen.add(id(value))
                found[f"{package}.{name}"] = value
    return found


def _listed(module: ModuleType) -> list[str]:
    return list(module.__all__)


def defined_in(module: str, names: dict[str, Any]) -> dict[str, Any]:
    """The public names that a module defines, in the order in which it does."""
    mine = {path: value for path, value in names.items() if getattr(value, "__module__", None) == module}
    source = list(vars(sys.modules[module]))
    return dict(sorted(mine.items(), key=lambda item: source.index(item[1].__name__)))


def sections() -> tuple[Section, ...]:
    """The table of contents: the product first, then the algorithms, then what they are made of."""
    return (
        Section("The product", (ESTIMATORS, MODEL, FILES, CLIENT, DATA)),
        *_learners(),
        Section("Around learners", (PROTOCOL, WRAPPERS, RULES)),
        Section("What learners are made of", (KERNELS, FEATURES, SYSTEMS, LOSSES, DICTIONARIES)),
        Section("Measures", (EVALUATION, METRICS, EXPLAIN, DRIFT, REGRET, DIMENSION, *BOUNDS, ADVERSARIES)),
        Section("Pictures", (REPORT,)),
    )


def pages() -> list[Page]:
    return [page for section in sections() for page in section.pages]


def missing() -> list[str]:
    """Public names that stand on no page."""
    shown = {module for page in pages() for module in page.modules}
    return [path for path, value in public().items() if getattr(value, "__module__", None) not in shown]


def _learners() -> Iterator[Section]:
    """The learners in the groups of `onkel learners`, one page a module."""
    kinds = {name: getattr(onkel, name) for name in ("Auto", "Experts", *sorted(learners.names, key=str.lower))}
    for group, members in grouped(kinds):
        by_module: dict[str, list[str]] = {}
        for name in members:
            by_module.setdefault(kinds[name].__module__, []).append(name)
        pages = (
            Page(module.rpartition(".")[2], " and ".join(same), str(kinds[same[0]].when), (module,))
            for module, same in by_module.items()
        )
        yield Section(f"Learners: {re.split(r'[;:(]', group.value)[0].strip()}", tuple(pages))


def _all_of(*packages: str) -> tuple[str, ...]:
    """The modules that define the public names of these packages, in the order of the alphabet."""
    names = public()
    found = {value.__module__ for path, value in names.items() for package in packages if _module(value).startswith(f"{package}.")}
    return tuple(sorted(found))


def _first(names: tuple[str, ...], modules: tuple[str, ...]) -> tuple[str, ...]:
    """The modules in an order in which these names come first."""
    places = {name: place for place, name in enumerate(names)}
    return tuple(sorted(modules, key=lambda module: places.get(module.rpartition(".")[2], len(names))))


def _module(value: Any) -> str:
    return f"{getattr(value, '__module__', '')}."


ESTIMATORS = Page(
    "estimators",
    "Regressor, Classifier, Transformer",
    "scikit-learn's and River's words for a model.",
    tuple(f"onkel.estimators.{name}" for name in ("regressor", "classifier", "transformer", "river")),
)
MODEL = Page(
    "model",
    "Model",
    "A raw row in, an answer out.",
    ("onkel.model.model", "onkel.model.stream", "onkel.model.answers", "onkel.model.learning"),
)
CLIENT = Page("client", "Client", "A model that `onkel serve` keeps, from Python.", ("onkel.client",))
FILES = Page(
    "files",
    "Saving and loading",
    "A model, or a bare learner, as one file; learners as text and as JSON; errors.",
    ("onkel.persist.checkpoint", "onkel.persist.config", "onkel.state", "onkel.errors"),
)
DATA = Page(
    "data",
    "Data",
    "Streams to try things on, and how files are read.",
    _first(("generators", "reading"), _all_of("onkel.data")),
)
PROTOCOL = Page("learner", "Three verbs: what every learner can do", "init, learn, predict, and questions.", ("onkel.protocol",))
WRAPPERS = Page(
    "wrappers",
    "Wrappers",
    "Learners around a learner: scaling, classes, earlier labels, intervals, probabilities.",
    _first(
        ("scaled", "one_vs_rest", "lagged", "intervals", "calibrated"),
        tuple(
            name
            for name in _all_of("onkel.combine")
            if not name.startswith(("onkel.combine.auto", "onkel.combine.experts", "onkel.combine.rules"))
        ),
    ),
)
RULES = Page("rules", "Mixing rules", "How Experts and Auto mix scores, each with its guarantee.", _all_of("onkel.combine.rules"))
KERNELS = Page(
    "kernels",
    "Kernels",
    "k(x, z): what similar means.",
    _first(("gaussian", "laplacian", "polynomial", "linear", "custom", "combine", "additive"), _all_of("onkel.kernels")),
)
FEATURES = Page(
    "features",
    "Features",
    "x → z of finite width: maps that own their kernel.",
    tuple(name for name in _all_of("onkel.features") if ".mercer" not in name),
)
SYSTEMS = Page("systems", "Eigen-systems", "Functions for Mercer and MercerProjection.", _all_of("onkel.features.mercer"))
LOSSES = Page("losses", "Losses", "The cost of a wrong score.", ("onkel.losses",))
DICTIONARIES = Page("dictionaries", "Dictionaries", "Which past points are kept.", _all_of("onkel.dictionary"))
METRICS = Page(
    "metrics", "Metrics and probabilities", "What counts as an error.", ("onkel.measure.metrics", "onkel.measure.reliability")
)
EXPLAIN = Page(
    "explain",
    "What has been learnt",
    "Experts and their weights, curves of additive models.",
    ("onkel.measure.explain", "onkel.measure.components"),
)
DRIFT = Page("drift", "Changes of the stream", "When errors begin to come from another distribution.", ("onkel.measure.drift",))
REGRET = Page(
    "regret",
    "Regret",
    "The loss beyond that of the best function in hindsight.",
    ("onkel.measure.regret", "onkel.measure.hindsight", "onkel.measure.newton_regret"),
)
DIMENSION = Page(
    "leverage", "Leverage scores and dimensions", "How many directions of a stream matter.", ("onkel.measure.leverage",)
)
BOUNDS = (
    Page(
        "bounds_ridge",
        "Bounds of the ridge family",
        "Jézéquel, Gaillard & Rudi 2019.",
        ("onkel.measure.bounds.jezequel2019", "onkel.measure.bounds.grid"),
    ),
    Page(
        "bounds_newton",
        "Bounds of the Newton family",
        "Calandriello, Lazaric & Valko 2017.",
        ("onkel.measure.bounds.calandriello2017", "onkel.measure.bounds.conditions"),
    ),
    Page("bounds_forks", "Bounds of FORKS", "FORKS 2023.", ("onkel.measure.bounds.forks2023",)),
    Page("bounds_projection", "Bounds of the projections", "Herbster 2001.", ("onkel.measure.bounds.herbster2001",)),
    Page("bounds_experts", "Bounds of mixtures", "One for each mixing rule.", ("onkel.measure.bounds.experts",)),
)
ADVERSARIES = Page("adversaries", "Adversaries", "Streams chosen against a learner.", ("onkel.measure.adversaries",))
_MEASURES = _all_of("onkel.measure")
_ELSEWHERE = {module for page in (METRICS, EXPLAIN, DRIFT, REGRET, DIMENSION, *BOUNDS, ADVERSARIES) for module in page.modules}
EVALUATION = Page(
    "evaluation",
    "Evaluation along a stream",
    "Every row is scored before it is learnt.",
    _first(("prequential", "cycle", "engine"), tuple(module for module in _MEASURES if module not in _ELSEWHERE)),
)
REPORT = Page(
    "report", "Pictures", "Learning curves, additive curves, reliability, the weights of experts.", _all_of("onkel.report")
)
