"""Short phrases: strings of a few words that occur in many of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import onkel
from onkel.data.table import strings
from onkel.model.encodings import Hashed, State, Text
from onkel.model.plan import are_phrases

pytestmark = pytest.mark.once

ADJECTIVES, NOUNS = [f"adjective{k}" for k in range(30)], [f"noun{k}" for k in range(30)]
PHRASES = [f"{adjective} {noun}" for adjective in ADJECTIVES for noun in NOUNS]
LEARNER = onkel.PKAWV(onkel.Identity() + onkel.Constant())


def rows(values: list[str], worth: NDArray[np.float64], seed: int) -> list[dict[str, Any]]:
    rng = np.random.default_rng(seed)
    return [{"what": values[k], "y": float(worth[k] + 0.3 * rng.normal())} for k in rng.integers(len(values), size=2000)]


def error(known: list[dict[str, Any]], hashed: tuple[str, ...] = ()) -> float:
    model = onkel.Model(target="y", learner=LEARNER, hashed=hashed)
    scores = model.learn(model.init(known), known)
    return float(np.mean((np.asarray(scores) - [row["y"] for row in known])[500:] ** 2))


def test_a_new_combination_of_known_words_is_known_by_its_words() -> None:
    rng = np.random.default_rng(0)
    worth = np.add.outer(rng.normal(size=30), rng.normal(size=30)).ravel()
    known = rows(PHRASES, worth, 1)
    assert error(known) <= 0.6 * error(known, ("what",))


def test_codes_whose_parts_mean_nothing_lose_little() -> None:
    known = rows(PHRASES[::3], np.random.default_rng(0).normal(size=300), 1)
    assert error(known) <= 1.1 * error(known, ("what",))


def test_phrases_are_known_by_words_that_occur_in_many_values() -> None:
    assert are_phrases(PHRASES)
    assert not are_phrases(ADJECTIVES)  # single words
    assert not are_phrases([f"code {k}" for k in range(300)])  # each with a word of its own
    model = onkel.Model(target="y", learner=LEARNER)
    for values, column in (
        (PHRASES, Text("what", labels=1, values=8)),
        ([f"code {k}" for k in range(300)], Hashed("what", labels=1)),
    ):
        known = rows(values, np.zeros(len(values)), 0)
        assert model.init(known).encoder.columns == (column,)


def test_whole_phrases_have_columns_of_their_own() -> None:
    column, state = Text("what", 64, labels=1, values=256), State({}, {})
    texts = strings(["small flat", "flat small", "small flat", None])
    X = np.zeros((4, column.width))
    column.write(texts, state, X, False)
    assert len(column.names(state)) == column.width == 64 + 256 + 2
    np.testing.assert_array_equal(X[0], X[2])
    np.testing.assert_array_equal(X[0, :64], X[1, :64])  # the same words
    assert not np.array_equal(X[0, 64:], X[1, 64:])
    assert not X[3].any()
    assert [np.diff(terms.start).tolist() for terms in column.terms(texts)] == [[2, 2, 2, 0], [1, 1, 1, 0]]
