"""`hot`, which compiles a function, and the symbols of BLAS, which is limited to one thread. Only this file and `_native` import
the compiler, numba.

`hot` compiles a function of arrays and scalars on its first call and caches the machine code on disk. A file of the cache is named
by a hash of the source that its code can depend on (the function's module and all of onkel's modules that it imports), because
numba does not notice an edit in an imported file. Cached machine code is executed without further checks, so it is read only from
files that belong to the user, and only if their checksum is right. If nothing can be cached, the next process compiles again. If
several processes need the same code, one compiles it and the others wait for its file.

An installed onkel may bring compiled code with it (`compile_ahead.py` in the repository writes it), made for a level of x86-64: a
set of instructions that many processors have. If this processor has them, all other code is compiled for the same level, so that
results do not depend on which functions were compiled ahead.

`fortran("dsymv")` makes a BLAS or LAPACK routine callable from compiled code. Its address is registered as a named symbol; a
caller that contained the address itself could not be cached. With the compiler off (NUMBA_DISABLE_JIT=1) `compiled_or(twin)` uses
the NumPy function `twin` instead.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import llvmlite.binding
import numba
import numba.core.caching
import numba.core.compiler
import numba.core.event
import numba.core.serialize
import numba.extending
from llvmlite import ir as ir  # for files that write LLVM instructions
from numba.core import cgutils
from numba.core.registry import cpu_target
from numba.core.runtime import rtsys

from onkel import _numpys_blas
from onkel._code_files import cache_folder, checked, claim, forget_unused, lock_of, source_hash, trusted, write_whole

F = TypeVar("F", bound=Callable[..., Any])

compiler_off: bool = bool(numba.config.DISABLE_JIT)

REORDERED = {"reassoc", "contract"}  # fastmath flags: additions may be reordered, products and additions fused
SETTINGS = ("OPT", "BOUNDSCHECK", "LOOP_VECTORIZE", "SLP_VECTORIZE", "DEBUGINFO_DEFAULT")  # settings of numba that change its code
BROUGHT = Path(__file__).parent / "_compiled"  # one folder for each level of the processor
# the levels of x86-64, highest first: the features that a processor must have, and the settings that make numba use them
LEVELS = {
    "x86-64-v4": ("avx512f avx512bw avx512cd avx512dq avx512vl", "-prefer-256-bit"),
    "x86-64-v3": ("avx2 bmi bmi2 f16c fma lzcnt movbe", "+avx2"),
}


def hot(function: F) -> F:
    """Compile `function` on first use, cache the result on disk, release the GIL while it runs.

    Additions may be reordered and fused with products, so that sums vectorise; NaN and infinity keep their meaning.
    """
    return _compile(function, REORDERED, counting=True)


def hot_lean(function: F) -> F:
    """`hot` without reference counting, which costs an atomic addition for each array passed. The function must neither create nor
    return an array. For functions that are called in each row."""
    return _compile(function, REORDERED)


def hot_inline(function: F) -> F:
    """`hot_lean`, inlined into every caller: a call that passes a few arrays costs as much as a hundred multiplications."""
    return _compile(function, REORDERED, inline=True)


def hot_strict(function: F) -> F:
    """`hot_inline` with every operation exactly as written: for guards, and for sums whose order matters."""
    return _compile(function, False, inline=True)


def _compile(function: F, fastmath: set[str] | bool, counting: bool = False, inline: bool = False) -> F:
    # no_cfunc_wrapper: a wrapper for calls from C would be one more function to compile, and nobody needs it
    options = {"fastmath": fastmath, "forceinline": inline, "_nrt": counting, "no_cfunc_wrapper": True}
    compiled: Any = numba.njit(nogil=True, error_model="numpy", **options)(function)
    if not compiler_off and function.__module__.startswith("onkel."):  # the hash in a file's name covers no other source
        compiled._cache = _Cache(function)
    return compiled  # type: ignore[no-any-return]


class _Cache(numba.core.caching.NullCache):
    """Machine code on disk, one file for each function and types of its arguments.

    numba's own cache numbers the files of a function in an index that all processes rewrite: two that compile at once can store the
    code for one set of types under the name of another. It also trusts every file, and fails if one cannot be read or written.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.module, self.name = function.__module__, f"{function.__module__}.{function.__qualname__}"
        self._claims: dict[str, int | None] = {}  # the files that this process is compiling, each with its lock

    @property
    def cache_path(self) -> str | None:
        return cache_folder()

    def load_overload(self, kinds: Any, context: Any) -> Any:
        """The code for arguments of these types; None if there is none that can be trusted, so that this process must compile."""
        rtsys.initialize(context)  # loaded code needs only this; refreshing the whole context would import half of numba
        name = self._file(kinds, context.codegen())
        data = _brought(name)
        if data is None and (folder := cache_folder()) is not None:
            path = os.path.join(folder, name)
            data = trusted(path)
            if data is None and path not in self._claims:
                self._claims[path] = claim(path)
                data = trusted(path)  # perhaps another process has compiled it meanwhile
        if data is None:
            return None
        self.release()
        found, code = numba.core.serialize.loads(data)
        # different types with the same name share a file
        return numba.core.compiler.CompileResult._rebuild(context, *code) if found == kinds else None

    def save_overload(self, kinds: Any, code: Any) -> None:
        """Store the code for other processes, if possible."""
        if (folder := cache_folder()) is None:
            return
        try:
            self._save(folder, kinds, code)
        finally:
            self.release()

    def release(self) -> None:
        """Release the locks, so that waiting processes read the file or compile it."""
        while self._claims:
            path, lock = self._claims.popitem()
            if lock is not None:
                with contextlib.suppress(OSError):
                    os.unlink(lock_of(path))
                os.close(lock)

    def _save(self, folder: str, kinds: Any, code: Any) -> None:
        if code.lifted or code.library.has_dynamic_globals:
            raise TypeError(f"{self.name} contains an address of this process, so its code cannot be cached; see `fortran`")
        *parts, environments = code._reduce()
        # without empty environments, which are most: loading one imports the module that it belongs to, 20 modules of numba in all
        data = numba.core.serialize.dumps((kinds, (*parts, [each for each in environments if each.consts])))
        try:
            write_whole(os.path.join(folder, self._file(kinds, code.codegen)), hashlib.sha256(data).digest() + data)
            forget_unused(folder)
        except OSError as error:
            _say_once(f"onkel: compiled code cannot be kept in {folder} ({error.strerror}): the next start compiles it again")

    def _file(self, kinds: Any, codegen: Any) -> str:
        compiler = numba.__version__, sys.implementation.cache_tag, [getattr(numba.config, name) for name in SETTINGS]
        about = repr((kinds, compiler, codegen.magic_tuple(), bool(_numpys_blas.addresses())))
        return f"{self.name}-{source_hash(self.module)}-{hashlib.sha256(about.encode()).hexdigest()[:32]}.nbc"


def _brought(name: str) -> bytes | None:
    """Code that came with the package, which is trusted like its source."""
    if _level is None:
        return None
    with contextlib.suppress(OSError), open(BROUGHT / _level / name, "rb") as file:
        return checked(file)
    return None


@functools.cache
def _say_once(line: str) -> None:
    """Print a line once, to a person who watches."""
    if is_watched():
        print(line, file=sys.stderr, flush=True)


def is_watched() -> bool:
    """Whether a person sees the error stream: at a terminal, or in IPython, such as a Jupyter notebook."""
    if sys.stderr is None:
        return False
    shell = getattr(sys.modules.get("IPython"), "get_ipython", None)
    return sys.stderr.isatty() or (shell is not None and shell() is not None)


class _Compilation(numba.core.event.Listener):
    """Watches compilations: tells a person who watches, once, why the first answer takes a few seconds; adds up the time; and
    releases the locks of functions that could not be compiled."""

    def __init__(self) -> None:
        self.depth = 0  # how many compilations are nested: compiling a function compiles those that it calls
        self.began = self.seconds = 0.0

    def on_start(self, event: Any) -> None:
        if self.depth == 0:
            self.began = time.perf_counter()
        self.depth += 1
        if event.data["dispatcher"].py_func.__module__.startswith("onkel."):
            _say_once(f"onkel: compiling, {'once' if cache_folder() else 'for this process: there is no folder to keep it in'} ...")

    def on_end(self, event: Any) -> None:
        function = event.data["dispatcher"]
        if event.data["args"] not in function.overloads and isinstance(function._cache, _Cache):
            function._cache.release()
        self.depth -= 1
        if self.depth == 0:
            self.seconds += time.perf_counter() - self.began


_compilation = _Compilation()
numba.core.event.register("numba:compile", _compilation)


def seconds_compiling() -> float:
    """The time that this process has spent compiling, which must not count as the cost of a row."""
    return _compilation.seconds


def clock() -> float:
    """A clock in seconds that stands still while something is compiled."""
    return time.perf_counter() - seconds_compiling()


def compiled_or(twin: F) -> Callable[[F], F]:
    """Decorate a function that calls BLAS: it is compiled, or, with the compiler off, replaced by its NumPy `twin`."""
    return (lambda function: twin) if compiler_off else hot_inline


def by_type(position: int, table: Mapping[type, Any]) -> Callable[..., Any]:
    """One name for several compiled functions; `table` gives the function for each named tuple type of the argument at `position`.

    The selection is made while the caller is compiled: it costs nothing per row, and a caller contains only the code that it uses.
    """

    def choose(*arguments: Any) -> Any:
        return table[type(arguments[position])](*arguments)

    if compiler_off:
        return choose
    theirs = next(iter(table.values())).targetoptions  # all functions in the table have the same options
    options = {name: theirs[name] for name in ("fastmath", "forceinline", "error_model", "_nrt", "no_cfunc_wrapper")}

    @numba.extending.overload(choose, jit_options=options, strict=False)
    def _(*kinds: Any) -> Any:
        return table[kinds[position].instance_class].py_func

    return choose


def instructions(twin: F, result: str, arguments: tuple[str, ...], emit: Callable[..., Any]) -> F:
    """A function of one, three or five arguments for compiled code, given by its LLVM instructions: `emit(builder, *values)` writes
    them, where an array is the address of its first number. Types are "int64", "float64", "void" or, for an argument, "array":
    contiguous and writeable, of unchecked length. With the compiler off, `twin` is used instead."""
    if compiler_off:
        return twin

    line = numba.types.Array(numba.types.float64, 1, "C")

    def resolve(*given: Any) -> Any:
        def write(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            numbers = [
                context.make_array(kind)(context, builder, value).data if isinstance(kind, numba.types.Array) else value
                for kind, value in zip(signature.args, values, strict=True)
            ]
            return emit(builder, *numbers) or context.get_dummy_value()

        kinds = [line if name == "array" else getattr(numba.types, name) for name in arguments]
        if wrong := [kind for kind in given if isinstance(kind, numba.types.Array) and kind != line]:
            raise numba.errors.TypingError(
                f"an array passed to `instructions` must be one-dimensional, contiguous and writeable, of float64, got {wrong[0]}"
            )
        return getattr(numba.types, result)(*kinds), write

    by_arity = {
        1: lambda typing, a: resolve(a),
        3: lambda typing, a, b, c: resolve(a, b, c),
        5: lambda typing, a, b, c, d, e: resolve(a, b, c, d, e),
    }
    return numba.extending.intrinsic(by_arity[len(arguments)])  # type: ignore[no-any-return]


def blas_or(loops: F, twin: F) -> Callable[[F], F]:
    """`compiled_or` for a function that calls BLAS; where NumPy's BLAS cannot be called, compiled `loops` are used instead."""
    return compiled_or(twin) if compiler_off or _numpys_blas.addresses() else lambda function: loops


def fortran(routine: str) -> Callable[[Any], None]:
    """A BLAS or LAPACK routine for use in compiled code, called with one tuple of `np.uint8` characters, integers, floats and
    arrays. Every argument is passed by address, as in Fortran.

    Integers have 64 bits. A BLAS whose integers have 32 bits reads and writes only the lower half of each. So small numbers are
    read correctly, and an array for an integer result must contain 0 before the call.
    """
    symbol = f"onkel_{routine}"
    if address := _numpys_blas.addresses().get(routine):
        llvmlite.binding.add_symbol(symbol, address)

    @numba.extending.intrinsic
    def call(typing: Any, arguments: Any) -> Any:
        def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            addresses = [
                builder.bitcast(_address(context, builder, kind, builder.extract_value(values[0], k)), cgutils.voidptr_t)
                for k, kind in enumerate(signature.args[0].types)
            ]
            interface = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t] * len(addresses))
            builder.call(cgutils.get_or_insert_function(builder.module, interface, symbol), addresses)
            return context.get_dummy_value()

        return numba.types.void(arguments), emit

    return call  # type: ignore[no-any-return]


def _address(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    if isinstance(kind, numba.types.Array):
        if isinstance(kind.dtype, numba.types.Integer) and kind.dtype != numba.types.int64:
            raise numba.errors.TypingError(f"BLAS writes integers of 64 bits, the array has {kind.dtype}")
        return context.make_array(kind)(context, builder, value).data
    return cgutils.alloca_once_value(builder, value)


def _level_of_processor() -> str | None:
    """The highest level for which there is compiled code and that this processor has. None if code is compiled for exactly this
    processor: the user has set another one, or numba has begun to compile."""
    if numba.config.CPU_NAME or numba.config.CPU_FEATURES is not None or "_toplevel_target_context" in vars(cpu_target):
        return None
    has = llvmlite.binding.get_host_cpu_features()
    there = (level for level, (needs, _) in LEVELS.items() if all(has.get(name) for name in needs.split()))
    return next((level for level in there if (BROUGHT / level).is_dir()), None)


if (_level := _level_of_processor()) is not None:
    numba.config.CPU_NAME, numba.config.CPU_FEATURES = _level, LEVELS[_level][1]

_numpys_blas.pin()
