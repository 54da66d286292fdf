"""Law 13: bad input is refused with the place and the remedy, and the state is untouched."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse

import onkel
from onkel.protocol import tasks_of
from tests.laws.cases import Case, bits, fewer, is_finite_or_refused

X, Y = np.ones((4, 3)), np.array([1.0, -1.0, 1.0, 1.0])


def _with(value: float, at: tuple[int, ...], array: Any) -> Any:
    array = array.copy()
    array[at] = value
    return array


BAD: list[tuple[str, dict[str, Any], str]] = [
    ("NaN in X", {"X": _with(np.nan, (2, 1), X)}, r"X holds nan at row 2, column 1.*(fill|drop)"),
    ("infinity in X", {"X": _with(np.inf, (0, 2), X)}, r"X holds inf at row 0, column 2.*(drop|replace)"),
    ("too large in X", {"X": _with(1e200, (3, 0), X)}, r"X holds 1e\+200 at row 3, column 0.*rescale"),
    ("a little too large in X", {"X": _with(1.1e50, (3, 0), X)}, r"X holds 1\.1e\+50 at row 3"),
    ("complex", {"X": X * 1j}, r"X must hold numbers only.*complex"),
    ("masked", {"X": np.ma.masked_less(X, 2.0)}, r"X is a masked array"),
    ("dates", {"X": np.zeros((4, 3), dtype="datetime64[s]")}, r"X must hold numbers only.*datetime"),
    ("numbers as text", {"X": X.astype(str)}, r"X must hold numbers only"),
    ("nothing", {"X": []}, r"two dimensions.*got shape \(0,\)$"),
    ("a number beyond every float", {"X": [[10**400] * 3] * 4}, r"X must hold numbers only"),
    ("a tiny weight", {"weight": _with(1e-300, (1,), Y * Y)}, r"weight\[1\] is 1e-300"),
    ("NaN in y", {"y": _with(np.nan, (1,), Y)}, r"y holds nan at row 1"),
    ("infinity in y", {"y": _with(-np.inf, (3,), Y)}, r"y holds -inf at row 3"),
    ("a column too few", {"X": X[:, :2]}, r"X must have 3 columns.*got 2"),
    ("a column too many", {"X": np.ones((4, 4))}, r"X must have 3 columns.*got 4"),
    ("one dimension", {"X": np.ones(3)}, r"two dimensions.*reshape\(1, -1\)"),
    ("three dimensions", {"X": np.ones((4, 3, 1))}, r"two dimensions"),
    ("text", {"X": [["a", "b", "c"]] * 4}, r"X must hold numbers only.*encode"),
    ("ragged", {"X": [[1.0, 2.0, 3.0], [1.0]]}, r"X must hold numbers only"),
    ("labels too few", {"y": Y[:3]}, r"y must have shape \(4,\).*got \(3,\)"),
    ("labels too wide", {"y": np.ones((4, 2))}, r"y must have shape \(4,\).*got \(4, 2\)"),
    ("a scalar label", {"y": 1.0}, r"y must have shape"),
    ("text labels", {"y": ["a", "b", "c", "d"]}, r"y must hold numbers only"),
    ("negative weight", {"weight": np.array([1.0, 1.0, -2.0, 1.0])}, r"weight\[2\] is -2.*at least 1e-100, or 0"),
    ("NaN weight", {"weight": _with(np.nan, (0,), Y)}, r"weight holds nan at row 0"),
    ("weights too few", {"weight": np.ones(3)}, r"weight must have shape \(4,\)"),
]


@fewer
def test_13_bad_input_names_the_place_and_leaves_the_state(case: Case) -> None:
    state = case.learner.init(3)
    case.learner.learn(state, X, Y)
    before = bits(state)
    for name, change, message in BAD:
        with pytest.raises(onkel.InputError, match=message):
            case.learner.learn(state, **{"X": X, "y": Y, **change})
        assert bits(state) == before, name
        if "X" in change:
            with pytest.raises(onkel.InputError, match=message):
                case.learner.predict(state, change["X"])
            assert bits(state) == before, name


def test_13_sparse_rows_are_refused_or_mean_the_same(case: Case) -> None:
    rng = np.random.default_rng(13)
    rows, labels = np.where(rng.random((60, 3)) < 0.5, 0.0, rng.normal(size=(60, 3))), rng.choice([-1.0, 1.0], size=60)
    state, other = case.learner.init(3), case.learner.init(3)
    before = bits(state)
    if not getattr(case.learner, "takes_sparse", False):
        with pytest.raises(onkel.InputError, match=r"X is sparse.*toarray"):
            case.learner.learn(state, scipy.sparse.csr_matrix(rows), labels)
        assert bits(state) == before
        return
    for bad, place in ((np.nan, "X holds nan at row 2, column 1"), (1e60, r"X holds 1e\+60 at row 2, column 1")):
        with pytest.raises(onkel.InputError, match=place):
            case.learner.learn(state, scipy.sparse.csr_matrix(_with(bad, (2, 1), rows)), labels)
    with pytest.raises(onkel.InputError, match="X must have 3 columns"):
        case.learner.predict(state, scipy.sparse.csr_matrix(rows[:, :2]))
    unsound = scipy.sparse.csr_matrix(rows)
    unsound.indices[0] = 3
    with pytest.raises(onkel.InputError, match="not a valid sparse matrix"):
        case.learner.learn(state, unsound, labels)
    assert bits(state) == before
    scores = case.learner.learn(other, rows, labels)
    assert np.array_equal(case.learner.learn(state, scipy.sparse.coo_array(rows), labels), scores)
    assert bits(state) == bits(other)
    twice = scipy.sparse.csr_array(
        (np.full(2, 0.5), np.array([1, 1]), np.array([0, 2])), shape=(1, 3)
    )  # two entries 0.5 in one place
    assert np.array_equal(case.learner.predict(state, twice), case.learner.predict(state, np.array([[0.0, 1.0, 0.0]])))
    assert twice.nnz == 2


def test_13_wrong_labels_for_a_pure_classifier(case: Case) -> None:
    if "regression" in tasks_of(case.learner):
        assert np.isfinite(case.learner.learn(case.learner.init(3), X, 2.5 * Y)).all()
        return
    state = case.learner.init(3)
    before = bits(state)
    with pytest.raises(onkel.InputError, match=r"label.*row 2"):
        case.learner.learn(state, X, np.array([1.0, -1.0, 0.5, 1.0]))
    assert bits(state) == before


def test_13_the_largest_number_is_learnt(case: Case) -> None:
    assert is_finite_or_refused(case, case.learner.init(3), case.learner.learn, 1e50 * X, Y)


def test_13_impossible_sizes(case: Case) -> None:
    for wrong in (2.5, "3", None):
        with pytest.raises(onkel.InputError, match="whole numbers"):
            case.learner.init(wrong)
    assert type(case.learner.init(np.int64(3)).dim) is int
    with pytest.raises(onkel.InputError, match="dim must be at least 1"):
        case.learner.init(0)
    with pytest.raises(onkel.InputError, match="output"):
        case.learner.init(3, 0)


def test_13_a_stream_too_wide_for_the_machine_is_refused_at_once(case: Case) -> None:
    with pytest.raises(onkel.InputError, match=r"GiB.*choose fewer"):
        case.learner.init(10**15)
