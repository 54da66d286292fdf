"""Configs as text and as JSON: every public class goes there and back, bad text is a sentence, and nothing is ever run."""

from __future__ import annotations

import dataclasses
import functools
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import onkel
from onkel import PKAWV, Basis, Constant, CustomKernel, Fourier, Identity, InputError, Standardize, Taylor, parse
from onkel.features import Chain
from onkel.features.mercer import System
from onkel.kernels import Gaussian, Laplacian, Linear, Polynomial
from onkel.losses import Hinge
from onkel.persist import from_json, to_json
from onkel.persist.config import LONGEST_TEXT, classes

pytestmark = pytest.mark.once


def ruler(*blocks: Any) -> Any:
    """A function of the user's, for bases and kernels."""
    return blocks[0][:, :2]


FUNCTIONS = {"ruler": ruler}
GRAM = ((2.0, 1 / 3), (1 / 3, 1.0))
REQUIRED: dict[str, Any] = {
    "fn": ruler,
    "gram": GRAM,
    "lower": ruler,
    "upper": ruler,
    "both": ruler,
    "coef": (1 / 3, -0.0),
    "each": (ruler,),
    "base": (onkel.Spline(2), onkel.Exponential(1 / 3)),
    "domain": (1 / 3, 2.0),
    "kernel": Gaussian(1 / 3) + Linear() * Polynomial(3),
    "points": ((0.1, 2.0), (1 / 3, -1.0)),
    "stages": (Standardize(), Taylor(1) + Identity()),
}  # of fields without a default
SYSTEMS = {"base": (onkel.Cosine(), onkel.Hermite(1 / 3)), "system": onkel.Sine((1 / 3, 2.0))}

CLASSES: list[Any] = [
    kind
    for name in onkel.__all__
    if dataclasses.is_dataclass(kind := getattr(onkel, name)) and kind not in (onkel.Trace, onkel.Regret)
]

ODD: list[Any] = [
    0, 1, 2, 3, 17, 1000, 2**62, 0.0, 0.1 + 0.2, 1 / 3, 0.999999, 1e-17, 1e22, 5e-324, -0.0, True, False, None,
    Hinge(), onkel.Square(), onkel.Kors(1 / 3), onkel.MLPoly(onkel.Logistic()), (onkel.BOA(), onkel.FixedShare(1 / 3)),
    (onkel.PKAWV(lam=1 / 3), onkel.Perceptron()),
    Gaussian(1 / 3) + Linear() * Linear(), Taylor(0, 1e-30), (Standardize(), Taylor(1) + Identity()), (Fourier(1),),
    ((0, 1), (2, 2)), onkel.Cosine((1 / 3, 2.0)), onkel.PKAWV(lam=1 / 3), "drop", ("no", "yes"),
]  # fmt: skip


def base(kind: type) -> Any:
    fields = dataclasses.fields(kind)
    needed = [f.name for f in fields if f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING]
    return kind(**{name: required(kind)[name] for name in needed})


def required(kind: type) -> dict[str, Any]:
    return REQUIRED | (SYSTEMS if issubclass(kind, System) else {}) | ({"kernel": Laplacian(1 / 3)} if kind is Fourier else {})


def variants(kind: type) -> Iterator[Any]:
    """The class with its defaults, and with every odd value in every field that takes it."""
    yield base(kind)
    for field in dataclasses.fields(kind):
        taken = 0
        for value in [required(kind)[field.name]] if field.name in REQUIRED else ODD:
            try:
                changed = dataclasses.replace(base(kind), **{field.name: value})
            except InputError:
                continue
            taken += 1
            yield changed
        assert taken > 0, f"no odd value fits {kind.__name__}.{field.name}: add one"


def same(a: Any, b: Any) -> bool:
    """Equal, and equal in type down to each field: 1 is not 1.0 here, nor 0.0 -0.0."""
    return bool(a == b) and repr(a) == repr(b) and hash(a) == hash(b)


@pytest.mark.parametrize("kind", CLASSES)
class TestEveryClass:
    def test_goes_through_its_text(self, kind: type) -> None:
        for config in variants(kind):
            assert same(parse(repr(config), FUNCTIONS), config)

    def test_goes_through_json(self, kind: type) -> None:
        for config in variants(kind):
            tree = json.loads(json.dumps(to_json(config), allow_nan=False))
            assert same(from_json(tree, FUNCTIONS), config)

    def test_takes_its_fields_by_place(self, kind: type) -> None:
        for config in variants(kind):
            values = [getattr(config, field.name) for field in dataclasses.fields(kind)]
            text = re.sub(r"<function (\w+) at 0x\w+>", r"\1", ", ".join(map(repr, values)))
            assert same(parse(f"{kind.__name__}({text})", FUNCTIONS), config)

    def test_a_bare_name_means_all_defaults(self, kind: type) -> None:
        if any(f.default is dataclasses.MISSING for f in dataclasses.fields(kind)):
            with pytest.raises(InputError, match=rf"{kind.__name__}: .*missing .* required"):
                parse(kind.__name__)
        else:
            assert same(parse(kind.__name__), kind())
            assert same(parse(kind.__name__ + "()"), kind())

    def test_names_its_fields_when_one_is_unknown(self, kind: type) -> None:
        names = ", ".join(field.name for field in dataclasses.fields(kind)) or "none"
        message = rf"{kind.__name__} has no setting 'zzz'; it has {names}"
        with pytest.raises(InputError, match=message):
            parse(f"{kind.__name__}(zzz=1)")
        with pytest.raises(InputError, match=message):
            from_json({"type": kind.__name__, "zzz": 1})

    def test_says_how_many_fields_it_has(self, kind: type) -> None:
        count = len(dataclasses.fields(kind))
        with pytest.raises(InputError, match=rf"{kind.__name__} has {count} settings .*got {count + 1} values"):
            parse(f"{kind.__name__}({', '.join(['1'] * (count + 1))})")


def test_every_public_config_can_be_written() -> None:
    assert {kind.__name__ for kind in CLASSES} <= set(classes())
    assert len(CLASSES) >= 16


COMBINED: list[Any] = [
    Fourier(3) + Identity() + Constant(),
    Chain((Standardize(), Taylor(1))) + Fourier(2),
    Chain((Standardize(), Taylor(1) + Chain((Fourier(2), Constant())))),
    PKAWV((Standardize(), Taylor(1) + Identity(), Fourier(2))),
    PKAWV((Standardize(),)),
    PKAWV(Basis(ruler, GRAM) + Constant()),
    PKAWV((Basis(ruler, GRAM), Fourier(3))),
    Gaussian() + Linear(),
    Gaussian(2.0) * Linear() + Laplacian() * Polynomial(3) * Linear(),
    (Gaussian() + Linear()) * (Laplacian() + Polynomial()),
    (Gaussian() + Linear()) * Linear() + CustomKernel(ruler),
]


@pytest.mark.parametrize("config", COMBINED, ids=map(repr, COMBINED))
def test_sums_products_and_tuples(config: Any) -> None:
    assert same(parse(repr(config), FUNCTIONS), config)
    assert same(from_json(json.loads(json.dumps(to_json(config))), FUNCTIONS), config)


def test_a_tuple_of_features_is_read_as_one() -> None:
    assert parse("(Standardize(), Taylor)") == (Standardize(), Taylor())
    assert parse("Standardize, Taylor(3)") == (Standardize(), Taylor(3))
    assert parse("PKAWV([Standardize(), Taylor])") == PKAWV((Standardize(), Taylor()))


def test_joined_parts_are_flat_however_they_are_written() -> None:
    assert parse("Identity() + (Constant() + Fourier())") == Identity() + Constant() + Fourier()
    assert parse("Linear * (Gaussian * Laplacian)") == Linear() * Gaussian() * Laplacian()
    assert parse("Linear + Gaussian * Laplacian") == Linear() + Gaussian() * Laplacian()


@pytest.mark.parametrize(
    "text",
    [
        "  PKAWV(Taylor(degree=3),lam=.5)  ",
        "PKAWV (\n  features = Taylor ( degree = 3 ) ,\n\tlam = 0.5 ,\n)",
        "\n\nPKAWV(lam=5e-1, features=Taylor(3,))\n",
        "PKAWV(Taylor(0x3), 0.5, True, 1)  # a note",
        "(PKAWV(Taylor(3), lam=0.5))",
    ],
)
def test_white_space_and_style_are_free(text: str) -> None:
    assert same(parse(text), PKAWV(Taylor(degree=3), lam=0.5))


def test_negative_numbers_are_numbers() -> None:
    with pytest.raises(InputError, match=r"lam must be at least 1e-30, got -2\.5"):
        parse("PKAWV(lam=-2.5)")
    with pytest.raises(InputError, match="degree must be at least 0, got -1"):
        parse("Taylor(-1)")


def test_a_function_travels_by_its_name() -> None:
    assert to_json(CustomKernel(ruler)) == {"type": "CustomKernel", "fn": {"function": "ruler"}}
    assert to_json(CustomKernel(functools.partial(ruler))) == {"type": "CustomKernel", "fn": {"function": "partial"}}
    with pytest.raises(InputError, match=r"function 'ruler' is your own: pass it by name.*bases={'ruler': \.\.\.}.*kernels="):
        from_json({"type": "CustomKernel", "fn": {"function": "ruler"}})
    with pytest.raises(InputError, match=r"there is no 'ruler' in onkel"):
        parse("CustomKernel(ruler)")


def test_json_is_plain() -> None:
    learner = PKAWV((Standardize(), Taylor(degree=1) + Constant()), lam=0.1)
    assert to_json(learner) == {
        "type": "PKAWV",
        "features": [
            {"type": "Standardize", "clip": None},
            {"+": [{"type": "Taylor", "degree": 1, "width": None}, {"type": "Constant"}]},
        ],
        "lam": 0.1,
        "awv": True,
        "forgetting": 1.0,
    }


def test_numbers_of_numpy_become_numbers_of_python() -> None:
    learner = PKAWV(Fourier(count=np.int64(3), width=np.float64(0.1), seed=np.uint8(2)), lam=np.float32(0.5))  # type: ignore[arg-type]
    assert same(parse(repr(learner)), PKAWV(Fourier(3, 0.1, 2), lam=0.5))
    assert json.loads(json.dumps(to_json(learner))) == to_json(learner)


# what is wrong, by name


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("PKAVW", r"no 'PKAVW' in onkel; did you mean 'PKAWV'\?"),
        ("pkawv()", r"did you mean .PKAWV."),
        ("PKAWV(features=Tailor())", r"no 'Tailor' in onkel; did you mean 'Taylor'\?"),
        ("PKAWV(features=Furier)", r"did you mean .Fourier.\?"),
        ("Gausian(1.0)", r"did you mean .Gaussian.\?"),
        ("Zebra9", r"no 'Zebra9' in onkel; the learners are .*PKAWV"),
        ("PKAWV(lambda_=1)", r"PKAWV has no setting 'lambda_'; did you mean 'lam'[?] it has features, lam"),
        ("PKAWV(type='Taylor')", r"PKAWV has no setting 'type'"),
        ("PKAWV(function=Taylor)", r"PKAWV has no setting 'function'"),
        ("Taylor(2, degree=3)", r"Taylor: degree is given twice"),
        ("Taylor(degree=2, degree=3)", r"Taylor: degree is given twice"),
        ("Taylor(2, 1.0, 3)", r"Taylor has 2 settings \(degree, width\), got 3 values"),
        ("Identity(1)", r"Identity has 0 settings \(none\), got 1 values"),
        ("Taylor(degree=2.5)", r"Taylor: degree must be a whole number, got 2.5"),
        ("Taylor(degree='2')", r"Taylor: degree must be a whole number, got '2'"),
        ("PKAWV(lam=None)", r"PKAWV: lam must be a finite number, got None"),
        ("PKAWV(lam=True)", r"PKAWV: lam must be a finite number, got True"),
        ("PKAWV(awv=1)", r"PKAWV: awv must be True or False, got 1"),
        ("PKAWV(features=Gaussian())", r"PKAWV: features must be a Features"),
        ("PKAWV(features=())", r"chain is a tuple of features"),
        ("PKAWV(lam=1e400)", r"PKAWV: lam must be a finite number, got inf"),
        ("PKAWV(lam=nan)", r"no 'nan' in onkel"),
        ("Gaussian() + Fourier()", r"cannot join .*Gaussian.* by \+"),
        ("Fourier() * Constant()", r"cannot join .* by \*; \+ joins features or kernels, \* joins kernels"),
        ("(Standardize(), Taylor()) + Constant()", r"cannot join .* by \+"),
        ("PKAWV", None),
        ("PKAWV(", r"cannot read 'PKAWV\('.*write it like PKAWV"),
        ("PKAWV)", r"cannot read"),
        ("", r"cannot read ''"),
        ("   ", r"cannot read"),
        ("#", r"cannot read"),
        ("PKAWV; Taylor", r"cannot read"),
        ("x = PKAWV()", r"cannot read"),
        ("import os", r"cannot read"),
        ("PKAWV(\0)", r"cannot read"),
        ("PKAWV(\ud800)", r"cannot read"),
        ("3", r"'3' is not a config; write it like"),
        ("'PKAWV'", r"is not a config"),
        ("None", r"is not a config"),
        ("()", r"is not a config"),
        ("(1, Taylor())", r"is not a config"),
        ("PKAWV(*[1])", r"'\*\[1\]' is not part of a config"),
        ("PKAWV(**{'lam': 1})", r"is not part of a config"),
    ],
)
def test_errors_name_what_is_wrong(text: str, message: str | None) -> None:
    if message is None:
        assert parse(text) == PKAWV()
        return
    with pytest.raises(InputError, match=message):
        parse(text)


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ({"type": "PKAVW"}, r"did you mean .PKAWV."),
        ({"type": ["PKAWV"]}, r"no \['PKAWV'\] in onkel"),
        ({"type": None}, r"no None"),
        ({}, r"no None"),
        ({"type": "Sum", "parts": []}, r"no 'Sum' in onkel"),
        ({"type": "PKAWV", "lam": {}}, r"no None"),
        ({"type": "PKAWV", "lam": []}, r"lam must be a finite number"),
        ({"type": "PKAWV", "lam": 10**400}, r"lam must be a finite number, got 1000"),
        ({"type": "PKAWV", "features": "Taylor()"}, r"features must be a Features"),
        ({"type": "Basis", "fn": "os.system", "gram": [[1.0]]}, r"fn must be a function"),
        ({"type": "Basis", "fn": {"function": "ruler"}, "gram": [[1.0], [2.0, 3.0]]}, r"gram must hold numbers"),
        ({"type": "Basis", "fn": {"function": "ruler"}, "gram": "11"}, r"gram must"),
        ({"type": "Basis", "fn": {"function": "ruler"}, "gram": [[10**400]]}, r"Basis: .*too large"),
        ({"function": "os.system"}, r"'os.system' is your own"),
        ({"function": ["ruler"]}, r"is your own"),
        ({"function": {"function": "ruler"}}, r"is your own"),
        ({"+": []}, r"cannot join \(\) by \+"),
        ({"+": 3}, r"cannot join 3 by \+"),
        ({"+": "ab"}, r"cannot join 'ab' by \+"),
        ({"+": {"type": "Constant"}}, r"cannot join Constant\(\) by \+"),
        ({"*": ["a", 10**12]}, r"cannot join \('a', 1000000000000\) by \*"),
        ({"*": [{"type": "Linear"}]}, r"two kernels or more"),
        ({"+": [{"type": "Constant"}, None]}, r"cannot join"),
        ({"type": "x" * 10**6}, r"no 'x{50,60} in onkel"),
    ],
)
def test_errors_in_json_name_what_is_wrong(tree: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        from_json(tree, FUNCTIONS)


def test_a_sum_of_many_parts_is_built_at_once() -> None:
    """Joined two by two it would take time as the square of the parts: a file could ask for an hour."""
    for name in ("Constant", "Linear"):
        assert len(from_json({"+": [{"type": name}] * 100_000}).parts) == 100_000


# nothing is run


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('touch CANARY')",
        "__import__('pathlib').Path('CANARY').touch()",
        "open('CANARY', 'w')",
        'exec(\'open("CANARY", "w")\')',
        "PKAWV(lam=__import__('os').system('touch CANARY'))",
        "PKAWV(features=(lambda: open('CANARY', 'w'))())",
        "PKAWV(features=[open('CANARY', 'w') for _ in (1,)])",
        "PKAWV(features=(open('CANARY', 'w') for _ in (1,)))",
        "PKAWV(features={open('CANARY', 'w')})",
        "PKAWV(features={1: open('CANARY', 'w')})",
        "PKAWV(f\"{open('CANARY', 'w')}\")",
        "PKAWV(lam=f'{1}')",
        "PKAWV(lam=(a := 1))",
        "PKAWV(lam=1 if open('CANARY', 'w') else 2)",
        "PKAWV(lam=1 and 2)",
        "PKAWV(lam=1 < 2)",
        "PKAWV(lam=not 1)",
        "PKAWV(lam=~1)",
        "PKAWV(lam=--1)",
        "PKAWV(lam=(1, 2)[0])",
        "PKAWV.init",
        "PKAWV().init(3)",
        "PKAWV.__class__.__mro__[1].__subclasses__()",
        "os.PKAWV()",
        "ruler(3)",
        "load('CANARY')",
        "save('CANARY', PKAWV(), None)",
        "read('CANARY')",
        "Trace(PKAWV())",
        "(yield 1)",
        "await PKAWV()",
        "...",
        "b'bytes'",
        "PKAWV(lam=1j)",
        "PKAWV(lam=1 - 1)",
        "PKAWV(lam=1 / 0)",
        "PKAWV(lam=2 * 3)",
        "PKAWV(lam=1 + 1)",
        "PKAWV(lam=10 ** 10 ** 10)",
        "'a' * 100000000000000",
        "(1,) * 100000000000000",
        "9 * 9 * 9 * 9",
        "'a' + 'b'",
        "PKAWV(lam=1 << 10000000000)",
        "'%1000000000000d' % 1",
    ],
)
def test_nothing_is_ever_evaluated(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError):
        parse(text, FUNCTIONS)
    assert list(tmp_path.iterdir()) == []


def test_a_function_handed_in_is_not_called() -> None:
    def explode(*_: Any) -> Any:
        raise AssertionError("called")

    assert parse("CustomKernel(explode)", {"explode": explode}) == CustomKernel(explode)
    assert parse("PKAWV(Basis(explode, [[1]]))", {"explode": explode}) == PKAWV(Basis(explode, [[1.0]]))


@pytest.mark.parametrize(
    "text",
    [
        "(" * 4_000 + ")" * 4_000,
        "[" * 5_000 + "]" * 5_000,
        "((" * 90 + "1" + ",)" * 90,
        "PKAWV(" * 1_500,
        "PKAWV(" * 90 + ")" * 90,
        "-" * 9_999 + "1",
        "~" * 9_999,
        "not " * 2_000 + "1",
        "Linear" + "+Linear" * 1_400,
        "Linear" + "*Linear" * 1_400,
        "1" + "+1" * 4_900,
        "a" + ".b" * 4_900,
        "a" + "[0]" * 3_000,
        "a" + "()" * 4_900,
        "lambda:" * 1_400 + "1",
        "1 if 1 else " * 800 + "1",
        "{" * 5_000,
        "'" + "a" * 9_990,
        "PKAWV(lam=" + "9" * 400 + ")",
        "PKAWV(lam=" + "9" * 5_000 + ")",
        "Fourier(count=" + "9" * 4_000 + ")",
        "Fourier(seed=0x" + "f" * 9_000 + ")",
        "PKAWV(" + ",".join(["1"] * 4_900) + ")",
    ],
    ids=lambda text: text[:12],
)
def test_deep_and_huge_text_is_refused(text: str) -> None:
    assert len(text) <= LONGEST_TEXT
    with pytest.raises(InputError):
        parse(text)


@pytest.mark.parametrize("text", ["(" * 10_000 + ")" * 10_000, "9" * 10_001, "PKAWV(" + " " * 10_000 + ")"])
def test_text_too_long_is_not_even_looked_at(text: str) -> None:
    with pytest.raises(InputError, match=r"characters is too long to read; the limit is 10,000"):
        parse(text)


# any text


def parsed_or_refused(text: str) -> bool:
    """Whether the text is an InputError, or a config that its own text gives again."""
    try:
        config = parse(text, FUNCTIONS)
    except InputError:
        return True
    parts = config if isinstance(config, tuple) else (config,)
    return all(dataclasses.is_dataclass(part) and same(parse(repr(part), FUNCTIONS), part) for part in parts)


def read_or_refused(tree: Any) -> bool:
    """Whether the JSON is an InputError, or a value that its own JSON gives again."""
    try:
        config = from_json(tree, FUNCTIONS)
    except InputError:
        return True
    return repr(from_json(to_json(config), FUNCTIONS)) == repr(config)


TOKENS = [
    "PKAWV", "Taylor", "Fourier", "Basis", "Standardize", "Identity", "Constant", "Gaussian", "Linear", "CustomKernel", "Hinge",
    "Sum", "ruler", "lam", "features", "degree", "width", "fn", "gram", "type", "function", "=", "(", ")", "(", ")", "()", "[", "]",
    ",", "+", "*", "-", "1", "0.5", "2", "1e999", "None", "True", "'a'", "((1.0,),)", " ", "\n", ".", ":", "lambda", "**", "{", "}",
    "f'{1}'", "\\", "\0",
]  # fmt: skip

anyhow = settings(deadline=None, max_examples=500, database=None, derandomize=True)


@anyhow
@given(text=st.text(max_size=80))
@example(text="\ufeffPKAWV")
@example(text="ＰＫＡＷＶ")
@example(text="PKAWV\r")
@example(text="'\\d'")
@example(text="0_0")
@example(text="1if 1else 2")
def test_any_text_is_refused_or_read(text: str) -> None:
    assert parsed_or_refused(text)


@anyhow
@given(tokens=st.lists(st.sampled_from(TOKENS), max_size=14))
def test_any_tokens_are_refused_or_read(tokens: list[str]) -> None:
    assert parsed_or_refused("".join(tokens))


@anyhow
@given(data=st.data())
def test_a_config_with_a_few_characters_changed_is_refused_or_read(data: st.DataObject) -> None:
    text = list(repr(data.draw(st.sampled_from(COMBINED))))
    for _ in range(data.draw(st.integers(1, 3))):
        text[data.draw(st.integers(0, len(text) - 1))] = data.draw(
            st.sampled_from(["", "(", ")", ",", "+", "*", "0", "-", "e", "'", "\n"])
        )
    assert parsed_or_refused("".join(text))


keys = st.sampled_from(["type", "function", "+", "*", "features", "lam", "degree", "width", "fn", "gram", "count", "awv", "colour"])
scalars = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=3), st.sampled_from([*classes(), "ruler", 10**400])
)
trees = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=4), max_leaves=12
)  # fmt: skip


@anyhow
@given(tree=trees)
def test_any_json_is_refused_or_read(tree: Any) -> None:
    assert read_or_refused(tree)


@pytest.mark.long
@settings(deadline=None, max_examples=30_000, database=None)
@given(tokens=st.lists(st.sampled_from(TOKENS), max_size=40), text=st.text(max_size=30))
def test_any_mixture_is_refused_or_read(tokens: list[str], text: str) -> None:
    assert parsed_or_refused("".join(tokens) + text)


@pytest.mark.long
@settings(deadline=None, max_examples=30_000, database=None)
@given(tree=trees)
def test_any_json_at_length(tree: Any) -> None:
    assert read_or_refused(tree)
