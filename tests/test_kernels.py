"""Kernels: the formula written naively, the laws of a kernel, the same bits for every cut, and errors that help."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import onkel.kernels
from onkel._types import Matrix
from onkel.errors import InputError
from onkel.kernels import CustomKernel, Delta, Gaussian, Kernel, Laplacian, Linear, Polynomial, Product, Sum, rows

EVERY_KERNEL: list[Kernel] = [
    Gaussian(), Gaussian(width=0.7), Laplacian(), Laplacian(width=2.5), Polynomial(), Polynomial(degree=5, offset=0.0), Linear(),
    Gaussian(width=1.0) + Linear(),
    Linear() * Gaussian() * Polynomial(degree=3, offset=0.5) + Laplacian(),
    (Gaussian(width=1.0) + Linear()) * (Laplacian() + Polynomial()) * Linear(),
]  # fmt: skip

quickly = settings(deadline=None, max_examples=100, database=None, derandomize=True)


def naive(kernel: Kernel, x: Matrix, z: Matrix) -> float:
    """k(x, z) of two rows, as on paper."""
    match kernel:
        case Gaussian(width=width):
            return float(np.exp(-np.sum((x - z) ** 2) / (2 * (x.size if width is None else width**2))))
        case Laplacian(width=width):
            return float(np.exp(-np.sum(np.abs(x - z)) / (np.sqrt(x.size) if width is None else width)))
        case Polynomial(degree=degree, offset=offset):
            return float((x @ z + offset) ** degree)
        case Linear():
            return float(x @ z)
        case Sum(parts=parts):
            return sum(naive(part, x, z) for part in parts)
        case Product(parts=parts):
            return float(np.prod([naive(part, x, z) for part in parts]))
    raise AssertionError(kernel)


def twice_the_cosine(X: Matrix, Z: Matrix) -> Matrix:
    cosine: Matrix = X @ Z.T / np.linalg.norm(X, axis=1)[:, None] / np.linalg.norm(Z, axis=1)
    return 2.0 * cosine


def blocks(seed: int, m: int, n: int, dim: int) -> tuple[Matrix, Matrix]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(m, dim)), rng.normal(size=(n, dim))


widths = st.none() | st.floats(0.05, 20.0)
elementary: st.SearchStrategy[Kernel] = st.one_of(
    st.builds(Gaussian, widths),
    st.builds(Laplacian, widths),
    st.builds(Polynomial, st.integers(1, 4), st.floats(0.0, 3.0)),
    st.just(Linear()),
)
kernels = st.recursive(
    elementary, lambda k: st.builds(lambda a, b: a + b, k, k) | st.builds(lambda a, b: a * b, k, k), max_leaves=4
)  # fmt: skip


@pytest.mark.parametrize("kernel", EVERY_KERNEL, ids=repr)
@pytest.mark.parametrize("dim", [1, 3, 8, 11])
def test_block_and_row_equal_the_naive_double_loop(kernel: Kernel, dim: int) -> None:
    X, Z = blocks(dim, 5, 9, dim)
    expected = np.array([[naive(kernel, x, z) for z in Z] for x in X])
    np.testing.assert_allclose(kernel(X, Z), expected, rtol=1e-12, atol=1e-12)
    codes, params = kernel.program(dim)
    out = np.full(9, -7.0)
    own = rows.row(codes, params, Z.T.copy(), 6, X[0], out)
    np.testing.assert_allclose(out[:6], expected[0, :6], rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(out[6:], -7.0)
    assert own == pytest.approx(naive(kernel, X[0], X[0]), rel=1e-12)


@quickly
@given(kernel=kernels, seed=st.integers(0, 2**32), dim=st.integers(1, 6), scale=st.sampled_from([1e-8, 0.1, 1.0, 10.0]))
def test_symmetric_and_positive_semi_definite(kernel: Kernel, seed: int, dim: int, scale: float) -> None:
    X, _ = blocks(seed, 9, 0, dim)
    X[-1] = X[0]  # a repeated row makes it singular
    K = kernel(scale * X, scale * X)
    np.testing.assert_array_equal(K, K.T)
    assert np.linalg.eigvalsh(K).min() >= -1e-10 * np.trace(K)


@pytest.mark.parametrize("kernel", [*EVERY_KERNEL, CustomKernel(twice_the_cosine) + Linear()], ids=repr)
@pytest.mark.parametrize("dim", [2, 8, 13])
def test_any_cut_gives_the_same_bits(kernel: Kernel, dim: int) -> None:
    X, Z = blocks(dim, 11, 14, dim)
    whole = kernel(X, Z)
    for cut in range(12):
        np.testing.assert_array_equal(np.vstack([kernel(X[:cut], Z), kernel(X[cut:], Z)]), whole)


@pytest.mark.parametrize("kernel", EVERY_KERNEL, ids=repr)
def test_a_value_has_the_same_bits_wherever_it_stands_in_its_row(kernel: Kernel) -> None:
    for dim in (3, 8):
        X, Z = blocks(dim, 2, 21, dim)
        together = kernel(X, Z)
        np.testing.assert_array_equal(np.hstack([kernel(X, Z[j : j + 1]) for j in range(21)]), together)
        np.testing.assert_array_equal(kernel(X, Z[::-1]), together[:, ::-1])


def test_exponential_is_exact_to_a_few_units_in_the_last_place() -> None:
    distance = np.concatenate([np.linspace(0.0, 707.9, 1201), np.logspace(-18, 0, 60)])
    X, Z = np.zeros((1, 1)), distance[:, None]
    K = Laplacian(width=1.0)(X, Z)[0]
    np.testing.assert_allclose(K, np.exp(-distance), rtol=5e-16, atol=0.0)
    assert K[0] == 1.0
    assert K.max() <= 1.0
    np.testing.assert_array_equal(Laplacian(width=1.0)(X, [[708.5], [1e4], [1e50]]), [[0.0, 0.0, 0.0]])
    np.testing.assert_array_equal(Gaussian(width=1e-30)(X, [[0.0], [1e-8], [1e8]]), [[1.0, 0.0, 0.0]])
    np.testing.assert_array_equal(Gaussian(width=1e30)(X, [[0.0], [1e-8], [1e8]]), [[1.0, 1.0, 1.0]])


def test_an_open_width_is_the_root_of_the_dimension() -> None:
    X, Z = blocks(0, 3, 4, 9)
    np.testing.assert_array_equal(Gaussian()(X, Z), Gaussian(width=3.0)(X, Z))
    np.testing.assert_array_equal(Laplacian()(X, Z), Laplacian(width=3.0)(X, Z))


def test_programs_are_postfix_with_parameters_in_order() -> None:
    codes, params = ((Gaussian(width=2.0) + Polynomial(degree=3, offset=0.5)) * Laplacian() * Linear()).program(dim=4)
    assert codes.tolist() == [rows.GAUSSIAN, rows.POLYNOMIAL, rows.ADD, rows.LAPLACIAN, rows.MULTIPLY, rows.LINEAR, rows.MULTIPLY]
    assert params.tolist() == [2.0, 3.0, 0.5, 2.0]
    assert (codes.dtype.name, params.dtype.name) == ("int64", "float64")


@quickly
@given(first=kernels, second=kernels, seed=st.integers(0, 2**32))
def test_sums_and_products_act_on_values(first: Kernel, second: Kernel, seed: int) -> None:
    X, Z = blocks(seed, 2, 3, 2)
    np.testing.assert_allclose((first + second)(X, Z), first(X, Z) + second(X, Z), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose((first * second)(X, Z), first(X, Z) * second(X, Z), rtol=1e-12, atol=1e-12)


@quickly
@given(kernel=kernels, seed=st.integers(0, 2**32))
def test_compiled_programs_and_python_combine_to_the_same_values(kernel: Kernel, seed: int) -> None:
    X, Z = blocks(seed, 1, 4, 3)
    codes, params = kernel.program(3)
    out = np.empty(4)
    rows.row(codes, params, Z.T.copy(), 4, X[0], out)
    np.testing.assert_allclose(out, kernel(X, Z)[0], rtol=1e-14, atol=0.0)


@quickly
@given(kernel=kernels)
def test_prints_as_the_code_that_rebuilds_it(kernel: Kernel) -> None:
    rebuilt = eval(repr(kernel), vars(onkel.kernels))
    assert rebuilt == kernel
    assert repr(rebuilt) == repr(kernel)
    assert hash(rebuilt) == hash(kernel)


def test_brackets_only_where_needed_and_nesting_is_flat() -> None:
    a, b, c = Gaussian(width=1.0), Linear(), Polynomial()
    assert repr(a + b) == "Gaussian(width=1.0) + Linear()"
    assert repr((a + b) * b) == "(Gaussian(width=1.0) + Linear()) * Linear()"
    assert repr(a * b + b) == "Gaussian(width=1.0) * Linear() + Linear()"
    assert repr(b + a * b) == "Linear() + Gaussian(width=1.0) * Linear()"
    assert (a + b) + c == a + (b + c) == Sum((a, b, c))
    assert (a * b) * c == a * (b * c) == Product((a, b, c))
    assert a + b != a * b
    assert Sum((a, b)) != Sum((b, a))


def test_custom_kernel_is_called_one_row_at_a_time() -> None:
    seen: list[tuple[int, ...]] = []

    def dots(X: Matrix, Z: Matrix) -> Matrix:
        seen.append(X.shape)
        return X @ Z.T

    X, Z = blocks(0, 3, 5, 2)
    np.testing.assert_allclose(CustomKernel(dots)(X, Z), Linear()(X, Z), rtol=1e-13, atol=1e-14)
    assert seen == [(1, 2)] * 3
    mixed = (CustomKernel(dots) + Gaussian(width=1.0)) * Linear()
    np.testing.assert_allclose(mixed(X, Z), ((Linear() + Gaussian(width=1.0)) * Linear())(X, Z), rtol=1e-13, atol=1e-14)
    assert repr(mixed) == "(CustomKernel(fn=dots) + Gaussian(width=1.0)) * Linear()"
    assert eval(repr(mixed), {**vars(onkel.kernels), "dots": dots}) == mixed


def test_custom_kernel_is_checked() -> None:
    def flat(X: Matrix, Z: Matrix) -> Matrix:
        return (X @ Z.T).ravel()

    def broken(X: Matrix, Z: Matrix) -> Matrix:
        return np.where(Z[:, 0] > 1, np.nan, 1.0)[None, :]

    X, Z = np.ones((2, 2)), np.array([[0.0, 1.0], [2.0, 3.0]])
    with pytest.raises(InputError, match=r"flat gave float64 of shape \(2,\).* must give numbers of shape \(1, 2\)"):
        CustomKernel(flat)(X, Z)
    with pytest.raises(InputError, match=r"broken gave nan for rows \[1. 1.\] and \[2. 3.\]"):
        CustomKernel(broken)(X, Z)
    with pytest.raises(InputError, match=r"CustomKernel\(fn=flat\) has no compiled form"):
        CustomKernel(flat).program(2)
    with pytest.raises(InputError, match=r"CustomKernel\(fn=flat\) has no compiled form"):
        (Linear() * CustomKernel(flat)).program(2)
    with pytest.raises(InputError, match="fn must be a function"):
        CustomKernel(3)  # type: ignore[arg-type]


def test_settings_are_checked_and_tidied() -> None:
    for kind in (Gaussian, Laplacian):
        with pytest.raises(InputError, match=rf"{kind.__name__}: width must be at least 1e-30, got 0"):
            kind(width=0)
        with pytest.raises(InputError, match="width must be a finite number, got nan"):
            kind(width=float("nan"))
        assert repr(kind(width=2)) == f"{kind.__name__}(width=2.0)"
    with pytest.raises(InputError, match="degree must be at least 1, got 0"):
        Polynomial(degree=0)
    with pytest.raises(InputError, match=r"degree must be a whole number, got 2\.5"):
        Polynomial(degree=2.5)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="degree must be at most 64, got 65"):
        Polynomial(degree=65)
    with pytest.raises(InputError, match="offset must be at least 0, got -1"):
        Polynomial(offset=-1)
    with pytest.raises(InputError, match="Sum: parts must be two kernels or more"):
        Sum((Linear(),))
    with pytest.raises(InputError, match="Product: parts must be two kernels or more"):
        Product((Linear(), 3))  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        Linear() + 1  # type: ignore[operator]
    with pytest.raises(TypeError):
        Linear() * 2.0  # type: ignore[operator]


def test_bad_blocks_are_refused_with_row_column_and_remedy() -> None:
    good = np.ones((2, 3))
    bad = np.ones((4, 3))
    bad[2, 1] = np.nan
    with pytest.raises(InputError, match="X holds nan at row 2, column 1; fill or drop"):
        Gaussian()(bad, good)
    bad[2, 1] = -np.inf
    with pytest.raises(InputError, match="Z holds -inf at row 2, column 1"):
        Gaussian()(good, bad)
    with pytest.raises(InputError, match="X has 3 columns and Z has 2; give both the same columns"):
        Linear()(good, np.ones((2, 2)))
    with pytest.raises(InputError, match=r"X must have two dimensions .* got shape \(3,\); .*X.reshape\(1, -1\)"):
        Linear()(np.ones(3), good)
    with pytest.raises(InputError, match="Z must hold numbers"):
        Linear()(good, [["a", "b", "c"]])
    with pytest.raises(InputError, match="X must hold numbers only"):
        Linear()([[1.0], [1.0, 2.0]], good)
    with pytest.raises(InputError, match="X has no columns"):
        Linear()(np.ones((2, 0)), np.ones((2, 0)))


def test_any_layout_of_numbers_is_taken_and_left_alone() -> None:
    X, Z = blocks(0, 4, 3, 2)
    expected = Gaussian()(X, Z)
    frozen = X.copy()
    frozen.flags.writeable = False
    np.testing.assert_array_equal(Gaussian()(frozen, Z), expected)
    np.testing.assert_array_equal(Gaussian()(np.asfortranarray(X), Z.tolist()), expected)
    np.testing.assert_array_equal(Linear()([[1, 2]], [[3, 4]]), [[11.0]])
    assert Gaussian()(np.empty((0, 2)), Z).shape == (0, 3)
    assert (Gaussian() + Linear())(X, np.empty((0, 2))).shape == (4, 0)


def test_every_kernel_class_has_its_own_code() -> None:
    leaves = [Gaussian(), Laplacian(), Polynomial(), Linear(), Delta()]
    codes = [rows.GAUSSIAN, rows.LAPLACIAN, rows.POLYNOMIAL, rows.LINEAR, rows.DELTA]
    assert sorted(int(k.program(2)[0][0]) for k in leaves) == codes
    assert [k.program(2)[1].size for k in sorted(leaves, key=lambda k: int(k.program(2)[0][0]))] == list(rows._PARAMETERS)


def test_the_row_without_the_compiler_equals_the_compiled_one() -> None:
    from onkel.kernels.rows import leaf, leaf_twin

    rng = np.random.default_rng(0)
    D, x = rng.normal(size=(4, 30)), rng.normal(size=4)
    for kernel in (Gaussian(0.7), Laplacian(2.0), Polynomial(3, 0.5), Linear(), Delta(0.3)):
        one, other = np.empty(30), np.empty(30)
        codes, params = kernel.program(4)
        first, second = np.append(params, (0.0, 0.0))[:2]
        own = leaf(codes[0], first, second, D, 30, x, one), leaf_twin(codes[0], first, second, D, 30, x, other)
        assert own[0] == pytest.approx(own[1], rel=1e-14)
        assert np.abs(one - other).max() <= 1e-13 * np.abs(other).max()
