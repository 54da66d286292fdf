"""Sorted blocks: the naive sum, the shape of the trees, states that cannot be, scales, equal keys, and no trace of a cut."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import onkel
from onkel._jit import compiler_off
from onkel.functions import representations
from onkel.functions.block_layout import BLOCK, COEF, FAN, FIRST, KEY, LAST, LISTS, SUMS
from onkel.functions.sorted_blocks import SortedBlocks
from onkel.kernels import Additive, Bases, Brownian, Delta, Exponential, Kernel, PeriodicSpline, Spline
from onkel.state import copied
from tests.laws.cases import bits
from tests.oracle.additive import gram
from tests.oracle.supported import inner

Array = NDArray[np.float64]

quickly = settings(deadline=None, max_examples=15 if compiler_off else 60, database=None, derandomize=True)
UNIT = (0.0, 1.0)
LEAST_EXPONENTIAL = math.exp(-708.0)  # smaller ones are 0 in compiled code
TWO_LEVELS = BLOCK // 2 * (FAN + 1)  # sorted keys split every block in halves that are never filled: with them the tree grows first
THREE_LEVELS = BLOCK // 2 * (FAN // 2) * (FAN + 2)
MANY = TWO_LEVELS if compiler_off else THREE_LEVELS


def square_root(p: Array) -> Array:
    return np.sqrt(np.abs(p))[:, None]


def halves_of_matern(p: Array) -> Array:
    """1 + 7 |p − q| = (1 − 7 min) · 1 + 1 · 7 max"""
    return np.column_stack([1.0 - 7.0 * p, np.ones_like(p)])


def other_halves_of_matern(p: Array) -> Array:
    return np.column_stack([np.ones_like(p), 7.0 * p])


def left_of_spline(p: Array) -> Array:
    """The linear spline ∫₀^min (p − τ)(q − τ) dτ = ½ m² M − ⅙ m³."""
    return np.column_stack([p**2 / 2.0, -(p**3) / 6.0])


def right_of_spline(p: Array) -> Array:
    return np.column_stack([p, np.ones_like(p)])


def line(p: Array) -> Array:
    return np.column_stack([np.ones_like(p), p])


MATERN = Bases(halves_of_matern, other_halves_of_matern, rate=7.0)
CUBIC = Bases(left_of_spline, right_of_spline, line)
RANK_ONE = Bases(None, None, square_root)
ONE_COLUMN: list[Kernel] = [
    *[Spline(order, UNIT) for order in range(6)],
    Brownian(UNIT),
    *[PeriodicSpline(UNIT, order) for order in range(1, 6)],
    PeriodicSpline(UNIT, constant=False),
    Exponential(0.5), Exponential(600.0), Exponential(5000.0), MATERN, CUBIC, RANK_ONE,
    Spline(1, UNIT) + Delta(0.3),
]  # fmt: skip
MIXED: tuple[Any, ...] = (Spline(2, UNIT), Exponential(3.0), PeriodicSpline((0.2, 0.9), 2), Brownian((-0.1, 0.8)), Exponential())
TWO_COLUMNS: list[Kernel] = [
    Additive(Spline(1, UNIT)),
    Additive(Exponential(2500.0)),
    Additive((Spline(3, UNIT), MATERN)),
    Additive((CUBIC, RANK_ONE)) + Delta(0.1),
    Additive(MIXED, products=((0, 1), (1, 1), (0, 0))),
    Additive(Brownian(UNIT), products=((0, 1),)) + Delta(2.0) + Delta(0.5),
]
KERNELS = [*[(kernel, 1) for kernel in ONE_COLUMN], *[(kernel, 2) for kernel in TWO_COLUMNS]]
every_kernel = pytest.mark.parametrize(("kernel", "dim"), KERNELS, ids=repr)


class Pair:
    """The same function twice: as it is held, and as a list of points and coefficients."""

    def __init__(self, kernel: Kernel, dim: int) -> None:
        self.kernel, self.f = kernel, representations.empty(kernel, dim)
        self.X, self.a = np.empty((0, dim)), np.empty(0)

    def insert(self, X: Array, a: Array) -> None:
        rows = self.f.rows(self.kernel, X)
        source = self.f.source(self.kernel, rows)
        representations.prepare(source, self.f.compiled, rows)  # ways that will be old when they are used
        for i in range(len(X)):
            self.f.make_room(self.kernel)
            representations.add(source, self.f.compiled, rows[i], 1.0, a[i], 0)
        self.X, self.a = np.vstack([self.X, X]), np.append(self.a, a)

    def shrink(self, factor: float) -> None:
        representations.shrink(self.f.compiled, factor)
        self.a = factor * self.a

    def fast(self, Z: Array) -> Array:
        rows = self.f.rows(self.kernel, Z)
        source = self.f.source(self.kernel, rows)
        work = representations.prepare(source, self.f.compiled, rows)
        return np.array([representations.evaluate(source, self.f.compiled, row, work) for row in rows])

    def agrees_at(self, Z: Array) -> bool:
        """|fast − naive| ≤ 1e-11 Σ |a_i k(x_i, z)|, and exactly 0 where that is."""
        K = gram(self.kernel, Z, self.X)
        size = np.abs(K) @ np.abs(self.a)
        least = LEAST_EXPONENTIAL * np.sum(np.abs(self.a)) * (size > 0.0)
        return bool(np.all(np.abs(self.fast(Z) - K @ self.a) <= 1e-11 * size + least))


ARRANGEMENTS: dict[str, Callable[[Any, int], Array]] = {
    "random": lambda rng, rows: rng.uniform(-0.1, 1.1, rows),
    "sorted": lambda rng, rows: np.linspace(0.0, 1.0, rows),
    "reversed": lambda rng, rows: np.linspace(1.0, 0.0, rows),
    "clustered": lambda rng, rows: rng.choice([0.1, 0.1000001, 0.7], rows) + rng.exponential(1e-9, rows),
    "repeated": lambda rng, rows: rng.integers(0, 150, rows) / 149.0,
    "far out": lambda rng, rows: rng.choice([-1e3, 0.5, 1e3], rows) + rng.normal(size=rows),
    "beyond digits": lambda rng, rows: rng.choice([-1e17, 3e16, 1e17], rows) + rng.integers(-200, 200, rows),
}


def arranged(name: str, rows: int, dim: int, seed: int = 0) -> Array:
    """Rows whose columns are all so arranged, none like another."""
    rng = np.random.default_rng(seed)
    return np.column_stack([ARRANGEMENTS[name](rng, rows) * 0.9**c for c in range(dim)])


def levels(f: Any) -> int:
    return int(getattr(f, "curves", f).roots[:, 1].max())


# the sum


@every_kernel
def test_thousands_of_points_on_three_levels_equal_the_naive_sum(kernel: Kernel, dim: int) -> None:
    rng = np.random.default_rng(1)
    pair, X = Pair(kernel, dim), arranged("sorted", MANY, dim)
    for now in np.array_split(np.arange(MANY), 4):
        pair.insert(X[now], rng.normal(size=len(now)) * 10.0 ** rng.integers(-3, 3, len(now)))
        pair.shrink(1e-3)
        assert pair.agrees_at(np.vstack([X[:: MANY // 15], rng.uniform(-0.2, 1.2, (15, dim))]))
    rank_one = isinstance(kernel, Bases) and kernel.lower is None  # needs no keys at all
    assert levels(pair.f) == (1 if rank_one else 2 if compiler_off else 3)


SOME_KERNELS: list[Kernel] = [Spline(2, UNIT), Exponential(600.0), Exponential(5000.0), MATERN, PeriodicSpline(UNIT, 3)]


@pytest.mark.parametrize(
    ("kernel", "name"),
    # of MATERN's own lists, 1 and 1 ± rate p, nothing but rounding is left there: it gives k(p, p) = 0 at p = 1e17
    [(kernel, name) for kernel in SOME_KERNELS for name in ARRANGEMENTS if (kernel, name) != (MATERN, "beyond digits")],
    ids=repr,
)
def test_however_the_keys_come(kernel: Kernel, name: str) -> None:
    rows = 300 if compiler_off else 4000
    X, pair = arranged(name, rows, 1), Pair(kernel, 1)
    pair.insert(X, np.random.default_rng(2).normal(size=rows))
    assert pair.agrees_at(
        np.vstack([X[:: rows // 30], X[:: rows // 30] + 1e-9, arranged("far out", 9, 1), arranged("random", 30, 1)])
    )


keys = st.sampled_from([0.0, -0.0, 0.25, 0.5, 1.0, 1e-300, -3.0, 40.0]) | st.floats(-0.5, 1.5)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("insert"), keys, st.just(0.0) | st.floats(1e-50, 10.0) | st.floats(-10.0, -1e-50)),
        st.tuples(st.just("query"), keys, st.just(0.0)),
        st.tuples(st.just("shrink"), st.just(0.0), st.sampled_from([0.0, 1.0, 0.5, -1.0, 1e-5, 3e-60, 1e9, 1e60])),
    ),
    max_size=40,
)


@quickly
@given(st.sampled_from(KERNELS), st.sampled_from([*ARRANGEMENTS]), st.sampled_from([1, 60, 400]), st.integers(0, 9), steps)
def test_any_sequence_of_steps(chosen: tuple[Kernel, int], name: str, rows: int, seed: int, sequence: list[Any]) -> None:
    kernel, dim = chosen
    pair = Pair(kernel, dim)
    pair.insert(arranged(name, rows, dim, seed), np.random.default_rng(seed).normal(size=rows))
    size = 1.0  # of what is left of the first points
    for word, key, number in sequence:
        x = np.full((1, dim), key)
        if word == "insert":
            pair.insert(x, np.array([number]))
        elif word == "shrink" and (number == 0.0 or 1e-200 < abs(number) * size < 1e200):
            pair.shrink(number)
            size *= abs(number) or 1.0
        assert pair.agrees_at(x)
    pair.f.check(kernel, len(pair.X), None)


def test_nothing_overflows_or_is_lost_where_rate_times_range_is_5000() -> None:
    """Neighbours are e⁻³⁹ to each other: each point sees itself alone."""
    pair = Pair(Exponential(5000.0), 1)
    pair.insert(np.linspace(0.0, 1.0, 2 * BLOCK)[:, None], np.full(2 * BLOCK, 1e8))
    assert pair.fast(np.array([[0.0]]))[0] == pytest.approx(1e8, rel=1e-15)
    assert pair.fast(np.array([[1.0 + 2.0**-10]]))[0] == pytest.approx(1e8 * math.exp(-5000.0 / 1024.0), rel=1e-14)
    assert pair.fast(np.array([[2.0]]))[0] == 0.0


# the shape


def walk(f: SortedBlocks, c: int, u: float) -> tuple[list[int], int]:
    """The nodes from the root down to the block of a key, and the block."""
    at, nodes = int(f.roots[c, 0]), []
    for _ in range(f.roots[c, 1]):
        nodes.append(at)
        way = max(int(np.sum(f.nodes[at, FIRST, : f.children[at, FAN]] <= u)), 1) - 1
        at = int(f.children[at, way])
    return nodes, at


@pytest.mark.parametrize(
    "kernel", [Spline(1, UNIT), Exponential(20.0), Exponential(1500.0), MATERN, Spline(1, UNIT) + Delta(0.1)], ids=repr
)
@pytest.mark.parametrize("name", ["random", "sorted", "reversed", "repeated", "clustered"])
def test_it_is_sound_after_every_point(kernel: Kernel, name: str) -> None:
    pair, X = Pair(kernel, 1), arranged(name, 100 if compiler_off else 600, 1)
    for i in range(len(X)):
        pair.insert(X[i : i + 1], np.array([1.0 if i % 3 else -0.5]))
        pair.f.check(kernel, i + 1, None)


@pytest.mark.parametrize("name", ["random", "sorted", "reversed"])
@pytest.mark.parametrize("before", [0, MANY])
def test_a_point_touches_one_way_down_and_what_it_splits(name: str, before: int) -> None:
    pair = Pair(Brownian(UNIT), 1)
    pair.insert(0.1 + 0.8 * arranged("sorted", before + 1, 1), np.ones(before + 1))
    f: Any = pair.f
    most, points = 0, 60 * FAN if before == 0 else 100
    for x in 0.15 + 0.7 * arranged(name, points, 1, seed=1).clip(0.0, 1.0):
        f.make_room(pair.kernel)  # so that the arrays stay where they are
        old = copied(f)
        pair.insert(x[None], np.ones(1))
        nodes = np.any(f.nodes != old.nodes, axis=(1, 2)) | np.any(f.children != old.children, axis=1)
        touched = np.count_nonzero(nodes) + np.count_nonzero(np.any(f.blocks != old.blocks, axis=(1, 2)))
        new, raised = int(np.sum(f.used - old.used)), levels(f) - levels(old)  # a new root is on the way itself
        assert touched == levels(f) + 1 + new - raised
        most = max(most, new)
    assert most == 2 or before  # a new root, and half of the old one


@pytest.mark.parametrize("kernel", [Spline(1, UNIT), Exponential(20.0), Exponential(600.0), MATERN], ids=repr)
def test_a_curve_is_read_on_one_way_down(kernel: Kernel) -> None:
    """The same number with NaN everywhere else."""
    pair = Pair(kernel, 1)
    pair.insert(arranged("sorted", MANY, 1), np.ones(MANY))
    f: Any = pair.f
    for u in (-1.0, 0.0, 0.123, 0.5, 0.987, 1.0, 7.0):
        z = np.array([[u]])
        expected, whole = pair.fast(z), copied(f)
        nodes, block = walk(f, 0, float(f.rows(kernel, z)[0, 0]))
        f.nodes[np.setdiff1d(np.arange(len(f.nodes)), nodes)] = np.nan
        f.blocks[np.arange(len(f.blocks)) != block] = np.nan
        assert len(nodes) == levels(f)
        assert np.array_equal(pair.fast(z), expected)
        f.nodes[:], f.blocks[:] = whole.nodes, whole.blocks


@pytest.mark.parametrize("name", ["random", "sorted", "reversed", "clustered"])
def test_the_tree_is_low(name: str) -> None:
    pair, X = Pair(Exponential(), 1), arranged(name, 1200 if compiler_off else 10_000, 1)
    for start in range(0, len(X), 400):
        pair.insert(X[start : start + 400], np.ones(400))
        f: Any = pair.f
        assert levels(f) <= math.log(max((start + 400) / (BLOCK / 2), 1.0), FAN / 2) + 2
        assert f.used[0] <= 2 * (start + 400) / BLOCK + 1


# states that cannot be


def tree(kernel: Kernel, rows: int = MANY, dim: int = 1) -> Any:
    pair = Pair(kernel, dim)
    pair.insert(arranged("sorted", rows, dim), np.ones(rows))
    return pair.f


def damaged(name: str, index: Any, value: Any) -> Callable[[Any], None]:
    """Another number in an array, or what a function makes of the old one."""

    def damage(f: Any) -> None:
        array = getattr(f, name)
        array[index] = value(array[index]) if callable(value) else value

    return damage


def swapped_keys(f: Any) -> None:
    f.blocks[3, KEY, [4, 5]] = f.blocks[3, KEY, [5, 4]]


def swapped_blocks(f: Any) -> None:
    f.blocks[[2, 3]] = f.blocks[[3, 2]]


def swapped_children(f: Any) -> None:
    f.children[f.roots[0, 0], [0, 1]] = f.children[f.roots[0, 0], [1, 0]]


def own_child(f: Any) -> None:
    f.children[f.roots[0, 0], 0] = f.roots[0, 0]


def cycle_below(f: Any) -> None:
    """A child of the root has the root for its child."""
    f.children[f.children[f.roots[0, 0], 0], 0] = f.roots[0, 0]


def child_twice(f: Any) -> None:
    f.children[f.roots[0, 0], 1] = f.children[f.roots[0, 0], 0]


def block_twice(f: Any) -> None:
    node = walk(f, 0, 0.5)[0][-1]
    f.children[node, 1] = f.children[node, 0]


def wrong_lowest_child(number: int) -> Callable[[Any], None]:
    def damage(f: Any) -> None:
        f.children[walk(f, 0, 0.5)[0][-1], 0] = number

    return damage


def unreached_block(f: Any) -> None:
    f.used[0] += 1


def lost_child(f: Any) -> None:
    root = f.roots[0, 0]
    f.children[root, FAN] -= 1


def shorter(f: Any) -> None:
    f.blocks = f.blocks[:-1]


def shorter_nodes(f: Any) -> None:
    f.nodes = f.nodes[:-1]


DAMAGE: dict[str, Callable[[Any], None]] = {
    "unsorted keys": swapped_keys,
    "unsorted blocks": swapped_blocks,
    "a key out of order": damaged("blocks", (3, KEY, 4), lambda _: 0.0),
    "a key that is no number": damaged("blocks", (3, KEY, 4), np.nan),
    "a coefficient that is no number": damaged("blocks", (3, COEF, 4), np.nan),
    "another coefficient": damaged("blocks", (3, COEF, 4), 5.0),
    "a left sum": damaged("nodes", (0, SUMS, 1), lambda old: old + 1.0),
    "a right sum": damaged("nodes", (0, -1, 1), lambda old: old - 1.0),
    "a sum that is no number": damaged("nodes", (0, SUMS, 1), np.nan),
    "an endless sum": damaged("nodes", (0, SUMS, 1), np.inf),
    "the first key of a child": damaged("nodes", (0, FIRST, 1), lambda old: old - 1e-9),
    "the last key of a child": damaged("nodes", (0, LAST, 1), lambda old: old + 1e-9),
    "a total": damaged("totals", (0, 0, 1), lambda old: old + 1.0),
    "a total that is no number": damaged("totals", (0, 0, 1), np.nan),
    "children in another order": swapped_children,
    "a node that is its own child": own_child,
    "a cycle": cycle_below,
    "a child twice": child_twice,
    "a block twice": block_twice,
    "a child below 0": wrong_lowest_child(-1),
    "a child far below 0": wrong_lowest_child(-(2**62)),
    "a child that is not there": wrong_lowest_child(2**62),
    "a block that nobody knows": unreached_block,
    "a child that nobody knows": lost_child,
    "too many children": damaged("children", (0, FAN), FAN + 1),
    "fewer children than none": damaged("children", (0, FAN), -1),
    "no children": damaged("children", (0, FAN), 0),
    "an empty block": damaged("length", 3, 0),
    "a block with more than it holds": damaged("length", 3, BLOCK + 1),
    "a block with a negative length": damaged("length", 3, -5),
    "a block without its last point": damaged("length", 3, lambda old: old - 1),
    "another root": damaged("roots", (0, 0), 0),
    "a root that is not there": damaged("roots", (0, 0), 10**6),
    "a root below 0": damaged("roots", (0, 0), -1),
    "more levels": damaged("roots", (0, 1), lambda old: old + 1),
    "fewer levels": damaged("roots", (0, 1), lambda old: old - 1),
    "no levels": damaged("roots", (0, 1), 0),
    "endless levels": damaged("roots", (0, 1), 2**62),
    "more blocks than there are": damaged("used", 0, 10**9),
    "fewer blocks than none": damaged("used", 0, -1),
    "fewer nodes than roots": damaged("used", 1, 0),
    "more nodes than there are": damaged("used", 1, 10**9),
    "an array too short": shorter,
    "nodes too short": shorter_nodes,
    "numbers behind the blocks": damaged("blocks", (-1, COEF, 0), 1.0),
    "numbers behind the lengths": damaged("length", -1, 1),
    "numbers behind the nodes": damaged("nodes", (-1, SUMS, 0), 1.0),
    "numbers behind the children": damaged("children", (-1, 0), 1),
    "numbers behind the points of a block": damaged("blocks", (3, COEF, BLOCK - 1), 1.0),
    "numbers behind the children of a node": damaged("nodes", (0, SUMS, FAN - 1), 1.0),
    "names behind the children of a node": damaged("children", (0, FAN - 1), 1),
    "less than its coefficients added": damaged("added", 0, MANY / 2),
    "nothing added": damaged("added", 0, 0.0),
    "an endless amount added": damaged("added", 0, np.inf),
    "an amount added that is no number": damaged("added", 0, np.nan),
    "a scale of 0": damaged("scale", 0, 0.0),
    "a negative scale": damaged("scale", 0, -1.0),
    "a scale too small": damaged("scale", 0, 1e-101),
    "a scale too large": damaged("scale", 0, 1e101),
    "a scale that is no number": damaged("scale", 0, np.nan),
}


@pytest.fixture(scope="module")
def spline_tree() -> Any:
    return tree(Spline(1, UNIT))


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_what_insert_cannot_have_made_is_refused(spline_tree: Any, damage: Callable[[Any], None]) -> None:
    f = copied(spline_tree)
    f.check(Spline(1, UNIT), MANY, None)
    damage(f)
    with pytest.raises(onkel.InputError):
        f.check(Spline(1, UNIT), MANY, None)


def test_more_points_than_rows_are_refused(spline_tree: Any) -> None:
    with pytest.raises(onkel.InputError, match="more points than rows were learnt"):
        spline_tree.check(Spline(1, UNIT), MANY - 1, None)


def test_trees_that_share_a_node_are_refused() -> None:
    kernel = Additive(Spline(1, UNIT))
    f = tree(kernel, TWO_LEVELS, dim=2)
    f.check(kernel, MANY, None)
    f.roots[1] = f.roots[0]
    with pytest.raises(onkel.InputError):
        f.check(kernel, MANY, None)


def other_list(f: Any) -> None:
    f.blocks[3, LISTS, 4] += 1.0


def wrong_sum_and_a_huge_number_behind(f: Any) -> None:
    """The size of the lists says how well sums must agree: nobody may make them look large."""
    f.blocks[3, LISTS, BLOCK - 1] = 1e30
    f.nodes[0, SUMS, 1] += 1.0


@pytest.mark.parametrize("damage", [other_list, wrong_sum_and_a_huge_number_behind], ids=lambda damage: damage.__name__)
def test_lists_of_a_user_that_cannot_be_are_refused(damage: Callable[[Any], None]) -> None:
    f = tree(MATERN, TWO_LEVELS)
    f.check(MATERN, TWO_LEVELS, None)
    damage(f)
    with pytest.raises(onkel.InputError):
        f.check(MATERN, TWO_LEVELS, None)


@pytest.mark.parametrize("base", [Spline(1, UNIT), Spline(2, UNIT)], ids=repr)
def test_coefficients_that_take_each_other_back_leave_a_sound_state(base: Any) -> None:
    """Eleven keys, and labels at random: in the end every coefficient is 0, or rounding, and so are the sums over them."""
    learner, rng = onkel.KernelAdatron(Additive(base)), np.random.default_rng(0)
    X, y = np.round(rng.random((400, 1)), 1), rng.choice([-1.0, 1.0], 400)
    state = learner.init(1)
    for t in range(0, len(X), 20):
        learner.learn(state, X[t : t + 20], y[t : t + 20])
        learner.check(state)
    assert np.abs(inner(state).support.blocks[:, COEF]).max() < 1e-12


def test_a_huge_label_that_is_taken_back_leaves_a_sound_state() -> None:
    """Two keys of one block: the sums have lost digits of the one beside 10²⁰ of the other, and so they may."""
    learner = onkel.TubeProjection(Exponential(), epsilon=0.0)
    state = learner.init(1)
    learner.learn(state, [[0.0], [1.0], [1.0]], [3.0, 1e20, 0.0])
    learner.check(state)


# the scale


@pytest.mark.once
def test_a_million_rounds_that_shrink_it() -> None:
    """43 times the scale leaves its bounds; the same in plain numbers, which shrink one by one."""
    rows, step, lam, points = 10_000 if compiler_off else 1_000_000, 0.2, 0.05, np.array([[0.0], [0.3], [1.1], [5.0]])
    learner = onkel.NORMA(Exponential(), onkel.Square(), step=step, lam=lam)
    order = np.random.default_rng(3).integers(0, 4, rows)
    y = np.sin(np.arange(rows) / 1000.0)
    state = learner.init(1)
    scores = learner.learn(state, points[order], y)
    K, a, fade = Exponential()(points, points).tolist(), [0.0] * 4, 1.0 - step * lam
    expected = np.empty(rows)
    for t, (i, label) in enumerate(zip(order.tolist(), y.tolist(), strict=True)):
        k = K[i]
        expected[t] = f = a[0] * k[0] + a[1] * k[1] + a[2] * k[2] + a[3] * k[3]
        a = [a[0] * fade, a[1] * fade, a[2] * fade, a[3] * fade]
        a[i] -= step * 2.0 * (f - label)
    assert np.max(np.abs(scores - expected)) <= 1e-10 * np.max(np.abs(expected))
    assert state.support.length[0] == 4
    assert state.support.scale[0] * state.support.blocks[0, COEF, :4] == pytest.approx(a, rel=1e-10)
    learner.check(state)


@pytest.mark.parametrize("kernel", [Spline(2, UNIT), Exponential(3.0), MATERN, Additive(Spline(0, UNIT)) + Delta(0.5)], ids=repr)
@pytest.mark.parametrize("factor", [3e-9, 2e9])
def test_folding_is_no_step(kernel: Kernel, factor: float) -> None:
    """Just before, at and after the fold f(x) is its first value times the power of the factor."""
    pair, Z = Pair(kernel, 1), arranged("random", 5, 1)
    pair.insert(arranged("random", 150, 1, seed=4), np.random.default_rng(5).normal(size=150))
    first, folds, power = pair.fast(Z), 0, 1.0
    for _ in range(25):
        before = float(pair.f.scale[0])
        pair.shrink(factor)
        power *= factor
        folds += pair.f.scale[0] != before * factor
        assert np.allclose(pair.fast(Z), power * first, rtol=1e-10, atol=0.0)
    assert folds == 2
    pair.f.check(kernel, 150, None)


@pytest.mark.parametrize("kernel", [Spline(2, UNIT), Exponential(3.0), MATERN, Additive(Spline(0, UNIT)) + Delta(0.5)], ids=repr)
def test_what_has_shrunk_to_nothing_makes_room(kernel: Kernel) -> None:
    """A third of the points is all that is ever left of them: the arrays end up no longer than those need."""
    pair, rng = Pair(kernel, 1), np.random.default_rng(7)
    rows, parts = 3 * MANY // 2, 30
    tree: Any = getattr(pair.f, "curves", pair.f)
    most = 0
    for X in np.array_split(arranged("random", rows, 1), parts):
        pair.insert(X, rng.normal(size=len(X)))
        pair.shrink(1e-34)
        most = max(most, int(np.sum(tree.length)))
        assert pair.agrees_at(np.vstack([X[::10], rng.uniform(-0.2, 1.2, (5, 1))]))
    alive = np.count_nonzero(pair.a)
    assert alive <= rows * 11 / parts < most < rows
    assert np.sum(tree.length) <= 4 * alive
    pair.f.check(kernel, rows, None)


def test_a_learner_that_forgets_fast_stays_small_and_the_same_however_it_is_cut(tmp_path: Path) -> None:
    learner = onkel.NORMA(Additive(Exponential()), onkel.Square(), step=0.25, lam=2.0)  # f is halved in every row
    X = np.random.default_rng(8).random((MANY, 2))
    y = X[:, 0] - X[:, 1] ** 2
    whole, cut = learner.init(2), learner.init(2)
    scores = learner.learn(whole, X, y)
    onkel.save(tmp_path / "cut.onkel", learner, cut)
    for part in np.array_split(np.arange(MANY), 7):
        _, cut = onkel.load(tmp_path / "cut.onkel")
        assert np.array_equal(learner.learn(cut, X[part], y[part]), scores[part])
        onkel.save(tmp_path / "cut.onkel", learner, cut)
    assert bits(cut) == bits(whole)
    assert np.count_nonzero(whole.support.blocks[:, COEF]) <= 2 * 1450
    assert np.sum(whole.support.length) <= 4 * 2 * 1450
    assert scores[-200:] == pytest.approx([naive(learner, X[:t], y[:t], X[t]) for t in range(MANY - 200, MANY)], abs=1e-10)


@pytest.mark.parametrize(
    "kernel", [Additive(Exponential()), Additive(Spline(2, UNIT)), Additive(Exponential()) + Delta(0.5)], ids=repr
)
def test_a_row_is_scored_as_predicted_when_others_leave_before_it(kernel: Kernel) -> None:
    rows, own = 800 if compiler_off else 12_000, float(np.max(kernel.diagonal(np.ones((1, 2)))))
    learner = onkel.NORMA(kernel, onkel.Square(), step=0.5 / own, lam=own * (2.0 - (1e-3 if compiler_off else 1.0)))
    X = np.random.default_rng(8).random((rows, 2))
    state, left, before = learner.init(2), 0, 0
    tree: Any = lambda: getattr(inner(state).support, "curves", inner(state).support)  # noqa: E731
    for x, y in zip(X[:, None], X[:, :1], strict=True):
        assert learner.predict(state, x).tobytes() == learner.learn(state, x, y[0] - 0.5).tobytes()
        keys = int(np.sum(tree().length))
        left, before = left + (keys < before), keys
    assert left >= 2


def test_a_state_of_which_nothing_is_left_can_be_saved(tmp_path: Path) -> None:
    """Sums and coefficients lose their last digits differently, on their way to 0."""
    learner = onkel.NORMA(Exponential(), onkel.EpsilonInsensitive(0.1), step=0.25, lam=2.0)
    rng = np.random.default_rng(0)
    for n in range(200, 300, 4):
        state = learner.init(1)
        learner.learn(state, rng.random((n, 1)), rng.choice([-1.0, 1.0], n))
        learner.learn(state, rng.random((1300, 1)), np.zeros(1300))
        onkel.save(tmp_path / "nothing.onkel", learner, state)
        assert bits(onkel.load(tmp_path / "nothing.onkel")[1]) == bits(state)


@pytest.mark.once
def test_points_that_stay_may_need_more_nodes_than_there_were() -> None:
    """Keys that fill every node, and of which the first half dies: those that stay come in order, and leave nodes half full."""
    kernel, (keys, half) = Exponential(1e6), dense_keys()
    pair = Pair(kernel, 1)
    pair.insert(keys[:half, None], np.ones(half))
    pair.shrink(0.0)
    pair.insert(keys[half:, None], np.random.default_rng(0).normal(size=len(keys) - half))
    f: Any = pair.f
    assert np.sum(f.length) == len(keys)
    assert half > 0.45 * len(keys)
    rng = np.random.default_rng(1)
    while np.sum(f.length) >= len(pair.X):  # nobody has left
        pair.insert(rng.uniform(0.0, keys.max(), (10, 1)), np.ones(10))
    f.check(kernel, len(pair.X), None)
    assert pair.agrees_at(keys[::2000, None])


def dense_keys() -> tuple[Array, int]:
    """Such that blocks and nodes become nearly full: sorted keys, which leave them half full, then keys between them; and how many
    there were when room was made the last time."""
    pair, grew = Pair(Exponential(1e6), 1), 0
    f: Any = pair.f
    while f.used[1] < 29:
        pair.insert(np.arange(float(len(pair.X)), len(pair.X) + 500.0)[:, None], np.ones(500))
    room = True
    while room:
        room = False
        for node in f.children[f.roots[0, 0], : f.children[f.roots[0, 0], FAN]]:
            for block in f.children[node, : f.children[node, FAN]].copy():
                if f.length[block] < BLOCK or f.children[node, FAN] < FAN - 1:
                    known = f.blocks[block, KEY, : f.length[block]]
                    widest = int(np.argmax(np.diff(known)))
                    held, room = len(f.blocks), True
                    pair.insert(np.array([[0.5 * (known[widest] + known[widest + 1])]]), np.ones(1))
                    grew = len(pair.X) if len(f.blocks) > held else grew
    return pair.X[:, 0], grew


def naive(learner: Any, X: Array, y: Array, x: Array) -> float:
    """Its score of x after these rows, of which the last sixty are all that is left of f."""
    a: list[float] = []
    last, labels = X[-60:], y[-60:]
    K = gram(learner.kernel, np.vstack([last, x]), last)
    for i, label in enumerate(labels):
        f = float(K[i, :i] @ a)
        a = [*(0.5 * b for b in a), -0.5 * (f - label)]
    return float(K[-1] @ a)


# equal keys


def test_equal_keys_become_one() -> None:
    pair, values = Pair(Exponential(), 1), np.array([-2.0, 0.0, 0.5, 3.0])
    X = np.tile(values, 500)[:, None]
    X[1::8] = -0.0
    a = np.random.default_rng(6).normal(size=len(X))
    pair.insert(X, a)
    f: Any = pair.f
    assert f.used.tolist() == [1, 1]
    assert f.length[0] == 4
    assert f.blocks[0, KEY, :4].tolist() == values.tolist()
    assert f.blocks[0, COEF, :4] == pytest.approx(a.reshape(-1, 4).sum(axis=0), abs=1e-12)


def test_keys_beyond_the_domain_are_its_edges() -> None:
    pair = Pair(Spline(1, (2.0, 4.0)), 1)
    pair.insert(np.array([[-7.0], [2.0], [1.9], [3.0], [4.0], [1e40]]), np.ones(6))
    f: Any = pair.f
    assert f.blocks[0, KEY, : f.length[0]].tolist() == [0.0, 0.5, 1.0]
    assert f.blocks[0, COEF, : f.length[0]].tolist() == [3.0, 1.0, 2.0]


def test_equal_keys_on_both_sides_of_a_split() -> None:
    """The keys of a full tree once more: nothing grows."""
    pair, X = Pair(Brownian(UNIT), 1), arranged("sorted", 600, 1)
    pair.insert(X, np.ones(600))
    f: Any = pair.f
    pair.insert(X, np.ones(600))  # full blocks may be split on the way
    used = f.used.copy()
    pair.insert(X[::-1], np.ones(600))
    assert np.array_equal(f.used, used)
    assert f.length.sum() == 600
    assert np.all(f.blocks[: used[0], COEF][f.blocks[: used[0], KEY] > 0.0] == 3.0)


# no trace


LEARNERS = [
    onkel.MarginProjection(Additive(Spline(1, (-2.0, 2.0))), radius=1.5),
    onkel.PassiveAggressive(Additive((Exponential(2.0), MATERN))),
    onkel.NORMA(Additive(PeriodicSpline((-1.0, 1.0), 2), products=((0, 1),)) + Delta(0.1), lam=0.2),
    onkel.KernelAdatron(Additive(Brownian((-3.0, 3.0))) + Delta(0.2)),
    onkel.FunctionalSGD(Additive((Exponential(2.0), MATERN)) + Delta(0.1), step=0.3),
]


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: repr(learner)[:50])
@settings(quickly, max_examples=3 if compiler_off else 15)
@given(cuts=st.lists(st.integers(0, 700), max_size=12))
def test_the_cut_into_calls_leaves_no_trace(learner: Any, cuts: list[int]) -> None:
    rows = 150 if compiler_off else 700
    rng = np.random.default_rng(8)
    X = rng.normal(size=(rows, 2))
    y = np.where(np.sin(3.0 * X[:, 0]) * X[:, 1] + 0.3 * rng.normal(size=rows) >= 0.0, 1.0, -1.0)
    weight = np.where(rng.random(rows) < 0.1, 0.0, 1.0)
    whole, parts = learner.init(2), learner.init(2)
    together = learner.learn(whole, X, y, weight)
    pieces = np.split(np.arange(rows), sorted(cuts))
    apart = [learner.learn(parts, X[piece], y[piece], weight[piece]) for piece in pieces]
    assert np.array_equal(np.concatenate(apart), together)
    assert bits(parts) == bits(whole)


@pytest.mark.parametrize("rate", [10.0, 600.0])
@pytest.mark.parametrize("widths", [(0.0, 1.0), (1.0, 0.0), (1.0, 1.0)], ids=["to the right", "to the left", "both"])
def test_ways_and_anchors_that_are_old_leave_no_trace(rate: float, widths: tuple[float, float]) -> None:
    """A block begins with what it has found in the tree; while it is learnt the range of keys widens over many anchors, and
    rows that are only scored lie just behind the last key for which an anchor is good."""
    rng, first, rows = np.random.default_rng(9), 40, 90 if compiler_off else 400
    low, high = widths
    reach = np.linspace(0.0, 1.0, rows)
    X = np.append(rng.uniform(1.0, 2.0, first), 1.0 - 4.0 * low * reach + (1.0 + 4.0 * (low + high) * reach) * rng.random(rows))
    anchor = 100.0 / rate * np.floor(X * rate / 100.0)
    asked = rng.random(len(X)) < 0.3
    X = np.where(asked, anchor + rng.choice([199.0, 200.0, 200.5, 230.0], len(X)) / rate, X)[:, None]
    y, weight = rng.normal(size=len(X)), np.where(asked, 0.0, 1.0)
    learner = onkel.TubeProjection(Exponential(rate), epsilon=0.0)
    whole, single = learner.init(1), learner.init(1)
    together = [learner.learn(whole, X[part], y[part], weight[part]) for part in (slice(first), slice(first, None))]
    apart = [learner.learn(single, X[i : i + 1], y[i : i + 1], weight[i : i + 1]) for i in range(len(X))]
    assert np.array_equal(np.concatenate(apart), np.concatenate(together))
    assert bits(whole) == bits(single)
