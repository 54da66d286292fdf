"""A config as JSON, and as the text a person types. Both are read without running anything.

    PKAWV(features=(Standardize(), Taylor(degree=3)), lam=0.1)
    {"type": "PKAWV", "features": [{"type": "Standardize"}, {"type": "Taylor", "degree": 3, ...}], "lam": 0.1, ...}

A user's own function travels by its name alone and must be handed in again: `functions={"name": function}`.
"""

from __future__ import annotations

import ast
import dataclasses
import difflib
import functools
import operator
from collections.abc import Callable, Mapping
from typing import Any

from onkel import features, kernels, learners, losses
from onkel.errors import InputError

LONGEST_TEXT = 10_000  # characters; Python's own parser is not safe from deeper nesting than fits here

Functions = Mapping[str, Callable[..., Any]]

_JOINED: dict[type, str] = {features.Sum: "+", kernels.Sum: "+", kernels.Product: "*"}
_JOIN: dict[str, Callable[[Any, Any], Any]] = {"+": operator.add, "*": operator.mul}


@functools.cache
def classes() -> dict[str, type]:
    """Every config class by its public name."""
    modules = (kernels, losses, features, learners)
    named: dict[str, type] = {name: getattr(module, name) for module in modules for name in module.__all__}
    return {name: kind for name, kind in named.items() if dataclasses.is_dataclass(kind) and kind not in _JOINED}


def to_json(value: Any) -> Any:
    """Plain lists, dicts, numbers, strings."""
    if type(value) in _JOINED:
        return {_JOINED[type(value)]: [to_json(part) for part in value.parts]}
    if dataclasses.is_dataclass(value):
        fields = {field.name: to_json(getattr(value, field.name)) for field in dataclasses.fields(value)}
        return {"type": type(value).__name__, **fields}
    if isinstance(value, tuple):
        return [to_json(part) for part in value]
    return {"function": value.__name__} if callable(value) else value


def from_json(tree: Any, functions: Functions | None = None) -> Any:
    """The inverse of `to_json`; an unknown name, field or value is an InputError."""
    if isinstance(tree, list):
        return tuple(from_json(part, functions) for part in tree)
    if not isinstance(tree, dict):
        return tree
    if "function" in tree:
        return _function(tree["function"], functions or {})
    for sign, join in _JOIN.items():
        if sign in tree:
            return _joined(join, [from_json(part, functions) for part in tree[sign]])
    fields = {name: from_json(part, functions) for name, part in tree.items() if name != "type"}
    return _build(tree.get("type"), fields)


def parse(text: str, functions: Functions | None = None) -> Any:
    """A config from its own `repr`; a bare name means all defaults. Parsed, never evaluated.

    >>> parse("PKAWV(Taylor(degree=3), lam=0.5)")
    PKAWV(features=Taylor(degree=3, width=None), lam=0.5, awv=True, forgetting=1.0)
    """
    if len(text) > LONGEST_TEXT:
        raise InputError(f"a config of {len(text):,} characters is too long to read; the limit is {LONGEST_TEXT:,}")
    try:
        node = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise InputError(f"cannot read {text[:80]!r}: {error}; write it like PKAWV(lam=0.1)") from None
    return from_json(_tree(node, functions or {}), functions)


def _tree(node: ast.expr, functions: Functions) -> Any:
    match node:
        case ast.Call(func=ast.Name(id=name), args=values, keywords=keywords) if all(k.arg for k in keywords):
            names = [field.name for field in dataclasses.fields(_class(name))]
            if len(values) > len(names):
                raise InputError(f"{name} has {len(names)} fields ({', '.join(names) or 'none'}), got {len(values)} values")
            given = dict(zip(names, values, strict=False)) | {k.arg: k.value for k in keywords}
            return {"type": name, **{str(field): _tree(value, functions) for field, value in given.items()}}
        case ast.Name(id=name):
            return {"function": name} if name in functions else {"type": name}
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return {"+": [_tree(left, functions), _tree(right, functions)]}
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return {"*": [_tree(left, functions), _tree(right, functions)]}
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            return [_tree(part, functions) for part in parts]
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
            return -number
        case ast.Constant(value=None | bool() | int() | float() | str() as value):
            return value
    raise InputError(f"{ast.unparse(node)[:60]!r} is not part of a config; names, numbers, tuples, + and * are")


def _class(name: Any) -> type:
    if name not in classes():
        near = difflib.get_close_matches(str(name), classes(), n=1, cutoff=0.5)
        hint = f"; did you mean {near[0]}?" if near else f"; known are {', '.join(sorted(learners.__all__))}"
        raise InputError(f"there is no {name!r} in onkel{hint}")
    return classes()[name]


def _build(name: Any, fields: dict[str, Any]) -> Any:
    kind = _class(name)
    known = [field.name for field in dataclasses.fields(kind)]
    for field in fields:
        if field not in known:
            raise InputError(f"{name} has no field {field!r}; it has {', '.join(known) or 'none'}")
    try:
        return kind(**fields)
    except TypeError as error:
        raise InputError(f"{name}: {error}") from None


def _joined(join: Callable[[Any, Any], Any], parts: list[Any]) -> Any:
    try:
        return functools.reduce(join, parts)
    except TypeError as error:
        raise InputError(f"cannot join {' and '.join(map(repr, parts))}: {error}") from None


def _function(name: Any, functions: Functions) -> Callable[..., Any]:
    if name not in functions:
        raise InputError(f"the function {name!r} is yours: hand it in by name, as in load(path, kernels={{{str(name)!r}: ...}})")
    return functions[name]
