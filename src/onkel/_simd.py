"""Explicit vector instructions (SIMD) for compiled code, where a loop is not vectorised well.

The compiler either unrolls a loop of fixed length number by number, or adds tests for lengths that never occur. Written with vector
instructions, each function below is a dozen instructions without a branch. `lanes(32)` returns them for arrays of 32 numbers:

    count_below(line, n, u)      how many of the first n numbers are less than u
    count_up_to(line, n, u)      the same for less than or equal
    beside(l, r, place, b, c)    b Σ_{i < place} l[i] + c Σ_{i > place} r[i]
    make_way(line, place, u)     insert u at index `place`; the numbers from there on move up by one, and the last one is lost
    fetch(line)                  prefetch: a hint that the array will be read soon

`fma(a, b, c)` is a · b + c. If the processor has an instruction for this (fused multiply-add), the result is rounded once, so its
bits are the same in every function that uses `fma`; the compiler's flag "contract" does not guarantee that. On other processors it
is rounded twice, in every function, because an exact library function would cost ten times as much. With the compiler off, NumPy
twins are used.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from onkel._jit import instructions, ir
from onkel._types import Vector
from onkel.state import CACHE_LINE

NUMBER, INTEGER, SHORT = ir.DoubleType(), ir.IntType(64), ir.IntType(32)
NUMBER_SIZE = 8  # bytes


class Lanes(NamedTuple):
    count_below: Callable[[Vector, int, float], int]
    count_up_to: Callable[[Vector, int, float], int]
    beside: Callable[[Vector, Vector, int, float, float], float]
    make_way: Callable[[Vector, int, float], None]
    fetch: Callable[[Vector], None]


def _fma_twin(a: float, b: float, c: float) -> float:
    return a * b + c


def _multiply_add(builder: Any, a: Any, b: Any, c: Any) -> Any:
    """a · b + c, of numbers or of vectors."""
    name = "llvm.fmuladd.f64" if a.type == NUMBER else f"llvm.fmuladd.v{a.type.count}f64"
    return builder.call(_declared(builder, name, a.type, [a.type] * 3), [a, b, c])


fma = instructions(_fma_twin, "float64", ("float64", "float64", "float64"), _multiply_add)


def lanes(width: int) -> Lanes:
    """The functions of this file's header, for arrays of `width` numbers."""
    line, count = ir.VectorType(NUMBER, width), ("array", "int64", "float64")
    lane = ir.Constant(ir.VectorType(INTEGER, width), list(range(width)))

    def spread(builder: Any, value: Any) -> Any:
        """The same value in each lane."""
        empty, first = ir.Constant(ir.VectorType(value.type, width), ir.Undefined), ir.Constant(ir.VectorType(SHORT, width), None)
        return builder.shuffle_vector(builder.insert_element(empty, value, SHORT(0)), empty, first)

    def load(builder: Any, address: Any) -> Any:
        loaded = builder.load(builder.bitcast(address, line.as_pointer()))
        loaded.align = 8
        return loaded

    def counting(relation: str) -> Any:
        def emit(builder: Any, address: Any, n: Any, u: Any) -> Any:
            fits = builder.fcmp_ordered(relation, load(builder, address), spread(builder, u))
            there = builder.icmp_signed("<", lane, spread(builder, n))
            found = builder.ctpop(builder.bitcast(builder.and_(fits, there), ir.IntType(width)))
            return found if width == 64 else builder.zext(found, INTEGER)

        return emit

    def beside(builder: Any, left: Any, right: Any, place: Any, before: Any, after: Any) -> Any:
        here, nothing = spread(builder, place), ir.Constant(line, None)
        left = builder.select(builder.icmp_signed("<", lane, here), load(builder, left), nothing)
        right = builder.select(builder.icmp_signed(">", lane, here), load(builder, right), nothing)
        weighed = builder.fmul(right, spread(builder, after))
        both = _multiply_add(builder, left, spread(builder, before), weighed)
        reduce = _declared(builder, f"llvm.vector.reduce.fadd.v{width}f64", NUMBER, [NUMBER, line])
        return builder.call(reduce, [NUMBER(-0.0), both], fastmath=("reassoc",))

    def beside_twin(left: Vector, right: Vector, place: int, before: float, after: float) -> float:
        return float(before * np.sum(left[:place]) + after * np.sum(right[place + 1 :]))

    def make_way(builder: Any, address: Any, place: Any, u: Any) -> None:
        old, here = load(builder, address), spread(builder, place)
        moved = builder.shuffle_vector(old, old, ir.Constant(ir.VectorType(SHORT, width), [0, *range(width - 1)]))
        new = builder.select(builder.icmp_signed(">", lane, here), moved, old)
        new = builder.select(builder.icmp_signed("==", lane, here), spread(builder, u), new)
        builder.store(new, builder.bitcast(address, line.as_pointer())).align = 8

    def make_way_twin(numbers: Vector, place: int, u: float) -> None:
        numbers[place + 1 :] = numbers[place:-1].copy()
        numbers[place] = u

    def fetch(builder: Any, address: Any) -> None:
        byte = ir.IntType(8).as_pointer()
        prefetch = _declared(builder, "llvm.prefetch.p0", ir.VoidType(), [byte, SHORT, SHORT, SHORT])
        for start in range(0, width, CACHE_LINE // NUMBER_SIZE):
            place = builder.bitcast(builder.gep(address, [INTEGER(start)]), byte)
            # the three constants mean: for writing, with high locality, in the data cache
            builder.call(prefetch, [place, SHORT(1), SHORT(3), SHORT(1)])

    return Lanes(
        instructions(lambda numbers, n, u: int(np.sum(numbers[:n] < u)), "int64", count, counting("<")),
        instructions(lambda numbers, n, u: int(np.sum(numbers[:n] <= u)), "int64", count, counting("<=")),
        instructions(beside_twin, "float64", ("array", "array", "int64", "float64", "float64"), beside),
        instructions(make_way_twin, "void", count, make_way),
        instructions(lambda numbers: None, "void", ("array",), fetch),
    )


def _declared(builder: Any, name: str, result: Any, arguments: list[Any]) -> Any:
    """The LLVM intrinsic of this name, declared in the module that is being built if it is not declared yet."""
    known = builder.module.globals.get(name)
    return known if known is not None else ir.Function(builder.module, ir.FunctionType(result, arguments), name)
