"""A config as JSON, and as text that the user types. Both are parsed; nothing is executed.

    PKAWV(features=(Standardize(), Taylor(degree=3)), lam=0.1)
    {"type": "PKAWV", "features": [{"type": "Standardize"}, {"type": "Taylor", "degree": 3, ...}], "lam": 0.1, ...}

The user's own functions are saved only by name and must be passed again: `functions={"name": function}`.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import keyword
import re
from collections.abc import Callable, Mapping
from typing import Any

from onkel import combine, dictionary, features, kernels, learners, losses
from onkel._validate import function_name, no_setting
from onkel.errors import InputError, did_you_mean
from onkel.model import Model, encoder, target

LONGEST_TEXT = 10_000  # characters; a longer text could be nested so deeply that Python's parser crashes

RESERVED = "__is_reserved"  # added to words that Python reserves, where they stand for a setting

Functions = Mapping[str, Callable[..., Any]]

_JOINED: dict[type, str] = {features.Sum: "+", kernels.Sum: "+", kernels.Product: "*"}
_JOIN: dict[str, dict[type, Callable[[tuple[Any, ...]], Any]]] = {
    "+": {features.Features: lambda parts: features.Sum(*parts), kernels.Kernel: kernels.Sum},
    "*": {kernels.Kernel: kernels.Product},
}


_PREFIX = re.compile(r"\bonkel\.(?=[A-Za-z])")  # as in onkel.PKAWV()


@functools.cache
def classes() -> dict[str, type]:
    """All config classes, by their public names."""
    modules = (kernels, losses, dictionary, features, features.mercer, learners, combine, encoder, target)
    named: dict[str, type] = {name: getattr(module, name) for module in modules for name in module.__all__} | {"Model": Model}
    return {name: kind for name, kind in named.items() if dataclasses.is_dataclass(kind) and kind not in _JOINED}


def to_json(value: Any) -> Any:
    """The config as plain lists, dicts, numbers and strings.

    >>> from onkel.persist import from_json, to_json
    >>> to_json(onkel.PKAWV(features=onkel.Identity(), lam=0.1))
    {'type': 'PKAWV', 'features': {'type': 'Identity'}, 'lam': 0.1, 'awv': True, 'forgetting': 1.0}
    >>> from_json(to_json(onkel.PKAWV(lam=0.1))) == onkel.PKAWV(lam=0.1)
    True
    """
    if type(value) in _JOINED:
        return {_JOINED[type(value)]: [to_json(part) for part in value.parts]}
    if dataclasses.is_dataclass(value):
        if classes().get(type(value).__name__) is not type(value):
            raise InputError(f"{type(value).__name__} is not one of onkel's classes; only these can be saved and read again")
        fields = {field.name: to_json(getattr(value, field.name)) for field in dataclasses.fields(value)}
        return {"type": type(value).__name__, **fields}
    if isinstance(value, tuple):
        return [to_json(part) for part in value]
    return {"function": function_name(value)} if callable(value) else value


def functions_of(value: Any) -> list[Callable[..., Any]]:
    """The user's own functions in a config."""
    if dataclasses.is_dataclass(value):
        return [found for field in dataclasses.fields(value) for found in functions_of(getattr(value, field.name))]
    if isinstance(value, tuple):
        return [found for part in value for found in functions_of(part)]
    return [value] if callable(value) else []


def from_json(tree: Any, functions: Functions | None = None) -> Any:
    """The inverse of `to_json`; an unknown name, field or value is an InputError."""
    if isinstance(tree, list):
        return tuple(from_json(part, functions) for part in tree)
    if not isinstance(tree, dict):
        return tree
    if "function" in tree:
        return _function(tree["function"], functions or {})
    for sign in _JOIN:
        if sign in tree:
            return _joined(sign, from_json(tree[sign], functions))
    fields = {name: from_json(part, functions) for name, part in tree.items() if name != "type"}
    return _build(tree.get("type"), fields)


def parse(text: str, functions: Functions | None = None) -> Any:
    """A config from its own `repr`; a bare name means all defaults. The text is parsed, never evaluated.

    text        The config as Python code.
    functions   Your own functions that the text names; None if there are none.

    >>> parse("PKAWV(Taylor(degree=3), lam=0.5)")
    PKAWV(features=Taylor(degree=3, width=None), lam=0.5, awv=True, forgetting=1.0)
    """
    if not isinstance(text, str):
        raise InputError(f"parse takes a config as text, such as 'PKAWV(lam=0.1)', got {type(text).__name__}")
    if len(text) > LONGEST_TEXT:
        raise InputError(f"a config of {len(text):,} characters is too long to read; the limit is {LONGEST_TEXT:,}")
    try:
        config = _value(_parsed(_PREFIX.sub("", text.strip())), functions or {})
    except InputError:
        raise
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise InputError(f"cannot read {text[:80]!r}: {error}; write it like PKAWV(lam=0.1)") from None
    if not config or not all(map(dataclasses.is_dataclass, config if isinstance(config, tuple) else [config])):
        raise InputError(f"{text[:80]!r} is not a config; write it like PKAWV(lam=0.1)")
    return config


def _parsed(text: str) -> ast.expr:
    """The text, parsed as Python code. A reserved word as a setting, such as lambda=0.1, becomes a name that no class has."""
    try:
        return ast.parse(text, mode="eval").body
    except SyntaxError:
        renamed = re.sub(rf"\b({'|'.join(keyword.kwlist)})(\s*=)", rf"\1{RESERVED}\2", text)
        if renamed == text:
            raise
        return ast.parse(renamed, mode="eval").body


def _value(node: ast.expr, functions: Functions) -> Any:
    match node:
        case ast.Call(func=ast.Name(id=name), args=values, keywords=keywords) if all(k.arg for k in keywords):
            names = [field.name for field in dataclasses.fields(_class(name))]
            if len(values) > len(names):
                raise InputError(f"{name} has {len(names)} settings ({', '.join(names) or 'none'}), got {len(values)} values")
            given = [*names[: len(values)], *(str(k.arg) for k in keywords)]
            if twice := [field for field in given if given.count(field) > 1]:
                raise InputError(f"{name}: {twice[0]} is given twice")
            values = [*values, *(k.value for k in keywords)]
            return _build(name, {field: _value(value, functions) for field, value in zip(given, values, strict=True)})
        case ast.Name(id=name):
            return functions[name] if name in functions else _build(name, {})
        case ast.BinOp(left=left, op=ast.Add() | ast.Mult() as sign, right=right):
            return _joined("+" if isinstance(sign, ast.Add) else "*", (_value(left, functions), _value(right, functions)))
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            return tuple(_value(part, functions) for part in parts)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
            return -number
        case ast.Constant(value=None | bool() | int() | float() | str() as value):
            return value
    raise InputError(f"{ast.unparse(node)[:60]!r} is not part of a config; use names, numbers, tuples, + and *")


def _class(name: Any) -> type:
    if not isinstance(name, str) or name not in classes():
        known = sorted([*learners.names, "Auto", "Experts"])
        hint = did_you_mean(str(name), classes(), most=1) or f"the learners are {', '.join(known)}"
        raise InputError(f"there is no {name!r:.60} in onkel; {hint.strip()}")
    return classes()[name]


def _build(name: Any, fields: dict[str, Any]) -> Any:
    kind = _class(name)
    known = [field.name for field in dataclasses.fields(kind)]
    for field in fields:
        if field not in known:
            raise InputError(no_setting(kind.__name__, field.removesuffix(RESERVED), known))
    try:
        return kind(**fields)
    except (TypeError, OverflowError) as error:
        raise InputError(f"{name}: {error}") from None


def _joined(sign: str, parts: Any) -> Any:
    """The sum or product of kernels, or the sum of features; anything else is refused."""
    for kind, join in _JOIN[sign].items():
        if isinstance(parts, tuple) and parts and all(isinstance(part, kind) for part in parts):
            return join(parts)
    raise InputError(f"cannot join {parts!r:.200} by {sign}; + joins features or kernels, * joins kernels")


def _function(name: Any, functions: Functions) -> Callable[..., Any]:
    if not isinstance(name, str) or name not in functions:
        raise InputError(
            f"the function {name!r:.60} is your own: pass it by name, as in load(path, bases={{{name!r:.60}: ...}}), "
            "or kernels={...} if it is a kernel"
        )
    return functions[name]
