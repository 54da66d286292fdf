"""Prequential evaluation against naive loops: every number of the trace, late labels, lazy streams, clear errors."""

from __future__ import annotations

import itertools
import json
import math
import re
import tracemalloc
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import onkel
from onkel import PKAWV, Constant, Identity, InputError, Standardize, Trace, prequential
from onkel.measure import absolute, mistakes, square
from onkel.measure.prequential import ROWS_AT_ONCE
from tests.laws.cases import bits

Array = NDArray[np.float64]

LINE = PKAWV((Standardize(), Identity() + Constant()), lam=0.1)


def stream(rows: int, dim: int = 2, seed: int = 0) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, dim))
    return X, X[:, 0] - 0.5 + 0.3 * rng.normal(size=rows)


def naive_scores(learner: PKAWV, X: Array, y: Array, weight: Array | None = None, delay: int = 0) -> tuple[Array, Any]:
    """Row t is scored when the labels of all rows before t − delay are known."""
    w = np.ones(len(X)) if weight is None else weight
    state = learner.init(X.shape[1], y.shape[1] if y.ndim == 2 else 1)
    scores = np.empty(y.shape)
    for t in range(len(X)):
        scores[t] = learner.predict(state, X[t : t + 1])[0]
        if t >= delay:
            late = slice(t - delay, t - delay + 1)
            learner.learn(state, X[late], y[late], w[late])
    for t in range(max(0, len(X) - delay), len(X)):
        learner.learn(state, X[t : t + 1], y[t : t + 1], w[t : t + 1])
    return scores, state


def near(a: Array, b: Array) -> bool:
    return a.shape == b.shape and bool(np.allclose(a, b, rtol=1e-9, atol=1e-9))


# the trace's own arithmetic


def traced(losses: list[float]) -> Trace:
    return Trace(LINE, losses={"cost": np.array(losses)})


amounts = st.lists(st.floats(0.0, 1e20), min_size=1, max_size=40)


@settings(deadline=None, max_examples=200, database=None, derandomize=True)
@given(losses=amounts, window=st.integers(1, 60))
def test_means_over_all_rows_and_over_windows(losses: list[float], window: int) -> None:
    trace, rows = traced(losses), range(1, len(losses) + 1)
    assert trace.mean("cost") == pytest.approx(math.fsum(losses) / len(losses), rel=1e-12)
    cumulative = [math.fsum(losses[:t]) / t for t in rows]
    assert trace.cumulative("cost") == pytest.approx(cumulative, rel=1e-12)
    windows = [losses[max(0, t - window) : t] for t in rows]
    assert trace.windowed("cost", window) == pytest.approx([math.fsum(seen) / len(seen) for seen in windows], rel=1e-12)


def test_a_huge_loss_leaves_no_trace_once_out_of_the_window() -> None:
    losses = [1e30, *[1e-3] * 20]
    windowed = traced(losses).windowed("cost", 4)
    assert windowed[0] == 1e30
    assert windowed[4:] == pytest.approx(np.full(17, 1e-3), rel=1e-12)


def test_a_window_longer_than_the_stream_is_the_cumulative_mean() -> None:
    trace = traced([3.0, 0.0, 6.0])
    for window in (3, 4, 1000, 10**12):
        assert trace.windowed("cost", window).tolist() == trace.cumulative("cost").tolist() == [3.0, 1.5, 3.0]
    assert trace.windowed("cost").tolist() == [3.0, 1.5, 3.0]


@pytest.mark.parametrize("window", [0, -1])
def test_a_window_has_rows(window: int) -> None:
    with pytest.raises(InputError, match=rf"window must be at least 1, got {window}"):
        traced([1.0]).windowed("cost", window)


def test_an_unknown_metric_names_those_there_are() -> None:
    trace = prequential(LINE, stream(20))
    for ask in (trace.mean, trace.cumulative, trace.windowed):
        with pytest.raises(InputError, match=r"no metric 'accuracy'; it has square, absolute"):
            ask("accuracy")


# scores and losses


@pytest.mark.parametrize("rows", [1, 2, 100, 1500])
def test_scores_and_losses_equal_the_naive_loop(rows: int) -> None:
    X, y = stream(rows)
    trace = prequential(LINE, (X, y))
    scores, state = naive_scores(LINE, X, y)
    assert near(trace.scores, scores)
    assert trace.y.tolist() == y.tolist()
    assert list(trace.losses) == ["square", "absolute"]
    assert near(trace.losses["square"], (scores - y) ** 2)
    assert near(trace.losses["absolute"], np.abs(scores - y))
    assert trace.mean("square") == pytest.approx(float(np.mean((scores - y) ** 2)), rel=1e-9)
    assert trace.rows == rows == trace.state.ridge.rows
    assert near(LINE.predict(trace.state, X[:20]), LINE.predict(state, X[:20]))


def test_the_first_row_counts() -> None:
    X, y = stream(50)
    trace = prequential(LINE, (X, y))
    assert trace.scores[0] == 0.0
    assert trace.losses["square"][0] == y[0] ** 2 == trace.cumulative("square")[0]


def test_labels_of_one_and_minus_one_count_mistakes() -> None:
    X, y = stream(300)
    labels = np.where(y >= 0.0, 1.0, -1.0)
    trace = prequential(LINE, (X, labels))
    scores, _ = naive_scores(LINE, X, labels)
    wrong = [float((1.0 if score >= 0.0 else -1.0) != label) for score, label in zip(scores, labels, strict=True)]
    assert list(trace.losses) == ["mistakes", "square"]
    assert trace.losses["mistakes"].tolist() == wrong
    assert 0.0 < trace.mean("mistakes") < 0.3


def test_a_score_of_0_counts_as_plus_one() -> None:
    scores, y = np.array([0.0, -0.0, 0.0, -1e-300, 1e-300]), np.array([1.0, 1.0, -1.0, 1.0, 1.0])
    assert mistakes(scores, y).tolist() == [0.0, 0.0, 1.0, 1.0, 0.0]


def test_with_several_outputs_the_largest_wins() -> None:
    scores = np.array([[0.1, 0.7, 0.2], [0.5, 0.5, 0.0], [0.0, 0.0, 0.0], [-3.0, -2.0, -1.0]])
    y = np.eye(3)[[1, 1, 0, 2]]
    assert mistakes(scores, y).tolist() == [0.0, 1.0, 0.0, 0.0]
    assert square(scores, y).tolist() == pytest.approx(((scores - y) ** 2).sum(axis=1).tolist())
    assert absolute(scores, y).tolist() == pytest.approx(np.abs(scores - y).sum(axis=1).tolist())


def test_one_output_in_a_column_counts_as_one_output() -> None:
    scores, y = np.array([0.5, -0.5, 0.0]), np.array([-1.0, -1.0, 1.0])
    for metric in (mistakes, square, absolute):
        assert metric(scores[:, None], y[:, None]).tolist() == metric(scores, y).tolist()


def test_several_outputs() -> None:
    X, y = stream(200)
    classes = np.digitize(y, [-1.0, 0.0])
    Y = np.eye(3)[classes]
    trace = prequential(LINE, (X, Y), metrics={"mistakes": mistakes, "square": square})
    scores, _ = naive_scores(LINE, X, Y)
    assert trace.scores.shape == trace.y.shape == (200, 3)
    assert near(trace.scores, scores)
    assert trace.losses["mistakes"].tolist() == [float(s.argmax() != c) for s, c in zip(scores, classes, strict=True)]
    assert near(trace.losses["square"], ((scores - Y) ** 2).sum(axis=1))
    assert list(prequential(LINE, (X, Y)).losses) == ["square", "absolute"]
    late = prequential(LINE, (X, Y), delay=4)
    assert late.scores.tobytes() == naive_scores(LINE, X, Y, delay=4)[0].tobytes()


def test_a_column_of_labels_keeps_its_shape() -> None:
    X, y = stream(30)
    for delay in (0, 3):
        column, flat = prequential(LINE, (X, y[:, None]), delay=delay), prequential(LINE, (X, y), delay=delay)
        assert column.scores.shape == (30, 1)
        assert column.scores[:, 0].tobytes() == flat.scores.tobytes()
        assert column.losses["square"].tobytes() == flat.losses["square"].tobytes()


def test_custom_metrics() -> None:
    X, y = stream(60)

    def pinball(scores: Array, y: Array) -> Array:
        return np.maximum(0.9 * (y - scores), -0.1 * (y - scores))

    def wrong_way(scores: Array, y: Array) -> Any:
        return scores * y < 0

    trace = prequential(LINE, (X, y), metrics={"pinball": pinball, "wrong way": wrong_way})
    assert list(trace.losses) == ["pinball", "wrong way"]
    assert trace.losses["pinball"].tobytes() == pinball(trace.scores, y).tobytes()
    assert trace.losses["wrong way"].dtype == np.float64
    assert trace.mean("wrong way") == float(np.mean(trace.scores * y < 0))
    assert prequential(LINE, (X, y), metrics={}).losses == {}


# late labels


@pytest.mark.parametrize("delay", [1, 2, 7, 49, 50, 51, 1000])
def test_late_labels_equal_the_naive_loop(delay: int) -> None:
    X, y = stream(50)
    weight = np.random.default_rng(1).choice([0.0, 0.5, 2.0], size=50)
    trace = prequential(LINE, (X, y, weight), delay=delay)
    scores, state = naive_scores(LINE, X, y, weight, delay)
    assert trace.scores.tobytes() == scores.tobytes()
    assert bits(trace.state) == bits(state)
    assert trace.state.ridge.rows == np.count_nonzero(weight)  # every label was learnt in the end
    assert (trace.scores[: delay + 1] == 0.0).all()


def test_no_delay_equals_the_naive_loop() -> None:
    X, y = stream(50)
    scores, state = naive_scores(LINE, X, y, delay=0)
    trace = prequential(LINE, (X, y), delay=0)
    assert near(trace.scores, scores)
    assert near(LINE.predict(trace.state, X), LINE.predict(state, X))


def test_labels_stay_late_across_blocks() -> None:
    X, y = stream(40)
    blocks = [(X[a:b], y[a:b]) for a, b in [(0, 1), (1, 4), (4, 4), (4, 30), (30, 40)]]
    for delay in (1, 5, 60):
        cut, whole = prequential(LINE, blocks, delay=delay), prequential(LINE, (X, y), delay=delay)
        assert cut.scores.tobytes() == whole.scores.tobytes()
        assert bits(cut.state) == bits(whole.state)


def test_a_delay_is_not_negative() -> None:
    with pytest.raises(InputError, match="delay must be at least 0, got -1"):
        prequential(LINE, stream(5), delay=-1)


# streams


@pytest.mark.parametrize("sizes", [[1] * 300, [7, 0, 93, 200], [299, 1], [150, 150], [32, 31, 33, 64, 140]])
def test_blocks_of_any_size_give_the_same_scores(sizes: list[int]) -> None:
    X, y = stream(300)
    ends = np.cumsum([0, *sizes])
    blocks = [(X[a:b], y[a:b]) for a, b in itertools.pairwise(ends)]
    whole, cut = prequential(LINE, (X, y)), prequential(LINE, blocks)
    assert near(cut.scores, whole.scores)
    assert cut.y.tobytes() == whole.y.tobytes()
    assert cut.rows_at == [int(end) for end, size in zip(ends[1:], sizes, strict=True) if size]


def test_one_long_block_is_cut_at_multiples() -> None:
    rows = 2 * ROWS_AT_ONCE + 10
    X, y = stream(rows)
    trace = prequential(LINE, (X, y))
    assert trace.rows_at == [ROWS_AT_ONCE, 2 * ROWS_AT_ONCE, rows]
    parts = prequential(LINE, [(X[a : a + ROWS_AT_ONCE], y[a : a + ROWS_AT_ONCE]) for a in range(0, rows, ROWS_AT_ONCE)])
    assert parts.scores.tobytes() == trace.scores.tobytes()
    assert bits(parts.state) == bits(trace.state)


def test_weights_are_the_third_element() -> None:
    X, y = stream(80)
    weight = np.random.default_rng(2).choice([0.0, 0.5, 3.0], size=80)
    trace = prequential(LINE, (X, y, weight))
    assert near(trace.scores, naive_scores(LINE, X, y, weight)[0])
    assert trace.rows == 80  # rows of weight 0 are scored all the same
    assert trace.state.ridge.rows == np.count_nonzero(weight)
    mixed = prequential(LINE, [(X[:30], y[:30], weight[:30]), (X[30:], y[30:])])
    assert near(mixed.scores, naive_scores(LINE, X, y, np.append(weight[:30], np.ones(50)))[0])


def test_no_weight_is_none() -> None:
    X, y = stream(30)
    assert prequential(LINE, (X, y, None)).scores.tobytes() == prequential(LINE, (X, y)).scores.tobytes()


def test_lists_are_streams_of_numbers_too() -> None:
    X, y = stream(30)
    listed = prequential(LINE, (X.tolist(), y.tolist(), np.ones(30).tolist()), delay=2)
    assert listed.scores.tobytes() == prequential(LINE, (X, y), delay=2).scores.tobytes()
    whole = prequential(LINE, (X, [1, -1] * 15))
    assert whole.y.dtype == np.float64
    assert list(whole.losses) == ["mistakes", "square"]


def test_going_on_from_a_state() -> None:
    X, y = stream(200)
    whole = prequential(LINE, (X, y))
    first = prequential(LINE, (X[:96], y[:96]))
    second = prequential(LINE, (X[96:], y[96:]), state=first.state)
    assert second.state is first.state
    assert near(np.append(first.scores, second.scores), whole.scores)
    assert second.rows == 104
    assert second.state.ridge.rows == 200


def test_generators_are_read_block_by_block() -> None:
    X, y = stream(60)
    given = []

    def blocks() -> Iterator[tuple[Array, Array]]:
        for start in range(0, 60, 10):
            given.append(start)
            yield X[start : start + 10], y[start : start + 10]

    seen: list[tuple[int, int]] = []
    trace = prequential(LINE, blocks(), progress=lambda rows, _: seen.append((rows, len(given))))
    assert seen == [(10, 1), (20, 2), (30, 3), (40, 4), (50, 5), (60, 6)]
    assert trace.rows == 60


def test_a_file_is_a_stream(tmp_path: Any) -> None:
    X, y = stream(50)
    path = tmp_path / "stream.csv"
    path.write_text("a,b,y\n" + "".join(f"{a!r},{b!r},{c!r}\n" for (a, b), c in zip(X.tolist(), y.tolist(), strict=True)))
    read = prequential(LINE, onkel.read(path, "y", block=20))
    assert near(read.scores, prequential(LINE, (X, y)).scores)


def test_progress_sees_the_cost_on_the_way() -> None:
    X, y = stream(50)
    calls: list[tuple[int, list[int], int]] = []

    def progress(rows: int, trace: Trace) -> None:
        assert trace.state is not None
        calls.append((rows, list(trace.rows_at), trace.state.ridge.rows))

    prequential(LINE, [(X[:20], y[:20]), (X[20:20], y[20:20]), (X[20:], y[20:])], progress=progress)
    assert calls == [(20, [20], 20), (50, [20, 50], 50)]


def test_bytes_and_seconds() -> None:
    X, y = stream(100)
    trace = prequential(LINE, [(X[:50], y[:50]), (X[50:], y[50:])])
    assert trace.bytes_at == [onkel.nbytes(trace.state)] * 2
    assert trace.nbytes == onkel.nbytes(trace.state) == LINE.footprint(2)
    assert len(trace.seconds_at) == 2
    assert 0.0 < trace.seconds_at[0] <= trace.seconds_at[1] == trace.seconds


def test_summary_is_json() -> None:
    trace = prequential(LINE, stream(100))
    summary = json.loads(json.dumps(trace.summary()))
    assert onkel.parse(summary["learner"]) == LINE
    assert summary["rows"] == 100
    assert summary["square"] == trace.mean("square")
    assert summary["absolute"] == trace.mean("absolute")
    assert summary["bytes"] == trace.nbytes


@pytest.mark.parametrize("empty", [[], iter(()), (np.empty((0, 2)), np.empty(0)), [(np.empty((0, 2)), np.empty(0))]])
def test_an_empty_stream(empty: Any) -> None:
    calls: list[int] = []
    trace = prequential(LINE, empty, delay=3, progress=lambda rows, _: calls.append(rows))
    assert (trace.rows, trace.nbytes, trace.seconds, trace.losses, calls) == (0, 0, 0.0, {}, [])
    assert trace.summary()["rows"] == 0
    with pytest.raises(InputError, match="no metric 'square'; it has none"):
        trace.mean("square")
    state = LINE.init(2)
    assert prequential(LINE, empty, state=state).state is state


X5, Y5 = stream(5)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ((X5, Y5[:4]), r"as many labels and weights as rows, got shapes \(5, 2\) and \(4,\)"),
        ((X5, Y5, np.ones(6)), r"as many labels and weights as rows, got shapes \(5, 2\) and \(5,\) and \(6,\)"),
        ([(X5, Y5), (X5, np.append(Y5, Y5))], r"as many labels"),
        ((X5, 1.0), r"as many labels"),
        ((3.0, 1.0), r"as many labels"),
        ([X5, Y5], r"tuples \(X, y\) or \(X, y, weight\), got array"),
        ((X5,), r"tuples \(X, y\)"),
        ((X5, Y5, Y5, Y5), r"tuples \(X, y\)"),
        ((X5, None), r"as many labels"),
        ((X5, None, Y5), r"as many labels"),
        ([None], r"tuples \(X, y\).* got None"),
        ("text", r"open 'text' first: prequential\(learner, onkel.read\('text'\)\)"),
        (((X5, Y5), (X5, Y5)), r"give several blocks as a list"),
        ((X5[:, 0], Y5), r"two dimensions"),
        ((X5, ["a"] * 5), r"y must hold numbers"),
        ((X5.astype(str), Y5), r"X must hold numbers"),
        ((X5, np.where(np.arange(5) == 3, np.nan, Y5)), r"y holds nan"),
    ],
)
def test_a_bad_stream_is_a_sentence(bad: Any, message: str) -> None:
    for delay in (0, 2):
        with pytest.raises(InputError, match=message):
            prequential(LINE, bad, delay=delay)


def test_weights_too_many_are_refused_even_at_the_end_of_a_block() -> None:
    """A cut of the block would hide them."""
    X, y = stream(ROWS_AT_ONCE)
    with pytest.raises(InputError, match="as many labels and weights as rows"):
        prequential(LINE, (X, y, np.ones(ROWS_AT_ONCE + 1)))


def test_a_trace_prints_on_one_line() -> None:
    X, y = onkel.data.smooth(200, seed=0)
    shown = repr(onkel.prequential(onkel.PKAWV(), (X, y)))
    assert shown.startswith("<Trace of PKAWV(features=")
    assert re.search(r": 200 rows, .*square 0\.\d+, .* s, [\d,]+ bytes>$", shown)
    assert "array" not in shown
    assert repr(onkel.prequential(onkel.PKAWV(), (X[:0], y[:0]))).count(": 0 rows, 0 s") == 1


@pytest.mark.once
def test_memory_grows_with_the_labels_and_not_with_the_inputs() -> None:
    """Labels are often a column of the table that the inputs are in: to keep them must not keep it."""
    learner, chunk = PKAWV(Constant()), 8 * 500 * 101

    def tables(chunks: int) -> Iterator[tuple[Array, Array]]:
        for seed in range(chunks):
            table = np.random.default_rng(seed).normal(size=(500, 101))
            yield table[:, :-1], table[:, -1]

    prequential(learner, tables(40))  # compiles all that it needs
    tracemalloc.start()
    try:
        trace = prequential(learner, tables(40))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert trace.rows == 40 * 500
    assert peak < 10 * chunk


@pytest.mark.parametrize("delay", [0, 3])
def test_a_stream_may_reuse_its_arrays(delay: int) -> None:
    blocks = [stream(10, seed=k) for k in range(5)]
    X, y = np.empty((10, 2)), np.empty(10)

    def reusing() -> Iterator[tuple[Array, Array]]:
        for block in blocks:
            X[:], y[:] = block
            yield X, y

    trace, expected = (prequential(LINE, blocks, delay=delay) for blocks in (reusing(), blocks))
    assert np.array_equal(trace.y, expected.y)
    assert np.array_equal(trace.scores, expected.scores)
    assert bits(trace.state) == bits(expected.state)
