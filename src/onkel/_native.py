"""Native sequences: calls of compiled functions that are prepared once, and then run one after the other without Python.

A call of a compiled function from Python takes 0.1 to 0.2 µs for each array among its arguments, because each array is converted to
the form in which compiled code passes it. For a single row this takes longer than the arithmetic. `in_sequence` converts all
arguments once, into a *frame* of words of 64 bits:

    array     its address, shape and strides
    number    its bits
    tuple     the words of its items

A small compiled function for each list of argument types, `_unpack_and_call`, reads a frame and calls a compiled function at its
address. `_run` does this for each call of a sequence.

The arrays that a frame describes have no owner in compiled code, so their references are not counted. The functions must return
nothing.
"""

from __future__ import annotations

import ctypes
import functools
import operator
import struct
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

import numba
import numba.extending
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils

from onkel._jit import compiler_off, hot_lean
from onkel._types import Counts

Known = dict[int, tuple[tuple[int, ...], tuple[Any, ...]]]  # the words of an array and the marks of its type, by its id

_WORD = ir.IntType(64)
_WORD_SIZE = 8  # bytes


def in_sequence(calls: list[Callable[[], Any]], known: Known | None = None) -> list[Callable[[], Any]]:
    """One call that makes all of these calls of compiled functions, in order. With the compiler off, the calls themselves.

    Sequences that have arrays in common may share `known`, as long as these arrays live.

    If memory runs out in one of the calls, MemoryError is raised, and the next run of the sequence begins with that call.
    """
    if compiler_off or not calls:
        return calls
    words: list[int] = []
    known = {} if known is None else known
    table = np.empty((len(calls), 3), np.int64)
    for k, call in enumerate(calls):
        assert isinstance(call, partial)
        start, marks = len(words), (call.func, *[_add_words(argument, words, known) for argument in call.args])
        if marks not in _found:
            _found[marks] = _addresses(call.func, tuple(map(numba.typeof, call.args)))
        table[k] = *_found[marks], _WORD_SIZE * start
    frames = np.array(words, np.int64)
    table[:, 2] += _address_of(frames)
    run = partial(_run, table, np.zeros(1, np.int64), frames)
    vars(run)["calls"] = calls  # `run` itself has only the addresses of their arrays
    return [run]


def run_all(calls: list[Callable[[], Any]]) -> None:
    deque(map(operator.call, calls), 0)


def _add_words(argument: Any, words: list[int], known: Known) -> tuple[Any, ...]:
    """Add the words of an argument. Returns marks of its type, since numba's description of a type takes far longer to find."""
    if isinstance(argument, np.ndarray):
        if (found := known.get(id(argument))) is None:
            marks = argument.dtype.num, argument.ndim, argument.flags.num
            found = known[id(argument)] = (_address_of(argument), *argument.shape, *argument.strides), marks
        words += found[0]
        return found[1]
    if isinstance(argument, tuple):
        return type(argument), *[_add_words(item, words, known) for item in argument]
    if isinstance(argument, float):
        words += struct.unpack("q", struct.pack("d", argument))
    else:
        words.append(int(argument))
    return (type(argument),)


def _address_of(array: Any) -> int:
    if array.flags.carray and array.size:
        return ctypes.addressof(ctypes.c_byte.from_buffer(array))  # takes a tenth of the time of the other way
    address: int = array.__array_interface__["data"][0]
    return address


# the addresses of `_unpack_and_call` and of a function, by the function and the marks of its arguments' types
_found: dict[tuple[Any, ...], tuple[int, int]] = {}


def _addresses(function: Any, kinds: tuple[Any, ...]) -> tuple[int, int]:
    """The addresses of `_unpack_and_call` and of a compiled function, for arguments of these types."""
    unpacker = _compiled(_unpack_and_call, (types.int64, types.int64, types.TypeRef(types.Tuple(kinds))))
    code = _compiled(function, kinds)
    if code.signature.return_type != types.none:
        raise TypeError(f"{function.__name__} returns {code.signature.return_type}; a call in a sequence must return nothing")
    return _address(unpacker), _address(code)


def _compiled(function: Any, kinds: tuple[Any, ...]) -> Any:
    function.compile(kinds)
    return function.overloads[kinds]


def _address(code: Any) -> int:
    found: int = code.library.get_pointer_to_function(code.fndesc.llvm_func_name)
    return found


def _call_at(context: Any, builder: Any, address: Any, result: Any, kinds: Any, values: Any) -> tuple[Any, Any]:
    """Call a compiled function; returns its status, which is 0 if it raised nothing, and its result."""
    function = context.call_conv.get_function_type(result, kinds).as_pointer()
    status, value = context.call_conv.call_function(builder, builder.inttoptr(address, function), result, kinds, values)
    return context.cast(builder, status.code, types.int32, types.int64), value


@numba.extending.intrinsic
def _from_frame(typing: Any, function: Any, frame: Any, prototype: Any) -> Any:
    kinds = prototype.instance_type.types

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        places = iter(range(2**20))

        def word() -> Any:
            at = builder.add(values[1], _WORD(_WORD_SIZE * next(places)))
            return builder.load(builder.inttoptr(at, _WORD.as_pointer()))

        def loaded(kind: Any) -> Any:
            if isinstance(kind, types.BaseTuple):
                return context.make_tuple(builder, kind, [loaded(each) for each in kind])
            if isinstance(kind, types.Float):
                return builder.bitcast(word(), context.get_value_type(kind))
            if not isinstance(kind, types.Array):
                return context.cast(builder, word(), types.int64, kind)
            array, number = context.make_array(kind)(context, builder), context.get_data_type(kind.dtype)
            array.data = builder.inttoptr(word(), number.as_pointer())
            shape, strides = ([word() for _ in range(kind.ndim)] for _ in range(2))
            array.shape, array.strides = cgutils.pack_array(builder, shape), cgutils.pack_array(builder, strides)
            array.nitems, array.itemsize = functools.reduce(builder.mul, shape), _WORD(context.get_abi_sizeof(number))
            array.meminfo, array.parent = (cgutils.get_null_value(part.type) for part in (array.meminfo, array.parent))
            return array._getvalue()

        return _call_at(context, builder, values[0], types.none, kinds, [loaded(kind) for kind in kinds])[0]

    return types.int64(types.int64, types.int64, prototype), emit


@hot_lean
def _unpack_and_call(function: int, frame: int, prototype: Any) -> int:
    """Call the function with the arguments of a frame; returns 0 if it raised nothing. `prototype` is the type of their tuple."""
    return int(_from_frame(function, frame, prototype))


@numba.extending.intrinsic
def _unpacked_call(typing: Any, unpacker: Any, function: Any, frame: Any) -> Any:
    kinds = types.int64, types.int64, types.TypeRef(types.Tuple(()))  # the type of the prototype makes no difference here

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        arguments = [*values[1:], context.get_dummy_value()]
        return _call_at(context, builder, values[0], types.int64, kinds, arguments)[1]

    return types.int64(types.int64, types.int64, types.int64), emit


@hot_lean
def _run(table: Counts, next: Counts, frames: Counts) -> None:
    """Make the calls, beginning with number `next`, then set `next` to 0. If a call fails, `next` becomes its number. Each row of
    `table` has three addresses: of `_unpack_and_call`, of the function, and of its arguments in `frames`."""
    for k in range(next[0], table.shape[0]):
        if _unpacked_call(table[k, 0], table[k, 1], table[k, 2]) != 0:
            next[0] = k
            raise MemoryError
    next[0] = 0
