"""One `.onkel` file. It is a zip of

    onkel.json     format, learner and numbers; for a model also its settings and its encoder
    *.npy          one per array
    SHA256SUMS     checksums of the other entries
    more/*.npy     optional arrays of the caller (`Extra`); their plain values, such as a run's errors so far, are in onkel.json

A file is written completely or not at all (`_writing.py`). Reading trusts nothing: sizes are checked before memory is allocated,
checksums before bytes are used, and names, types and shapes are compared with a fresh state of the same learner. Nothing is
unpickled or imported.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import stat
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from onkel._validate import function_name
from onkel._writing import failed, replacing
from onkel.errors import FileError, InputError
from onkel.model import Encoder, Model, Target
from onkel.model import State as ModelState
from onkel.model.encodings import State as EncoderState
from onkel.model.model import LABEL_KINDS
from onkel.persist.config import from_json, functions_of, to_json
from onkel.state import COUNT, FIXED, GROWING, Mark, filled, leaves, nbytes, owned
from onkel.turns import turn

FORMAT = 5
HEADER, SUMS = "onkel.json", "SHA256SUMS"
EXTRA = "more/"  # prefix of the entries that do not belong to the learner
LARGEST_COUNT = 2**62  # for numbers of rows and the like
LARGEST_JSON = 5_000_000  # bytes of onkel.json, plus ten times those of the arrays (the config of a basis contains its Gram matrix)
LARGEST_ARRAY_HEADER = 5_000  # characters
FIXED_TOLERANCE = 1e-9  # allowed difference of an array that the config determines, relative to its largest entry


Functions = dict[str, Callable[..., Any]] | None  # by name


@dataclass
class Extra:
    """What an estimator or a run saves with its model: plain values, and arrays of bools or finite numbers.

    >>> learner = onkel.PKAWV()
    >>> data = onkel.pack(learner, learner.init(dim=3), onkel.persist.Extra({"sensor": "roof"}, {"limits": np.array([0.0, 1.0])}))
    >>> len(data) > 1000
    True
    """

    about: dict[str, Any]
    arrays: dict[str, NDArray[Any]]


def pack(model: Any, state: Any, extra: Extra | None = None) -> bytes:
    """A model, or a bare learner, and its state as the bytes that `save` writes to a file. Equal states give equal bytes.

    model   The model, or the bare learner.
    state   Its state.
    extra   An `Extra` of your own that is stored with them, for `persist.read`; None: nothing.

    >>> learner = onkel.PKAWV(features=onkel.Taylor(degree=2))
    >>> data = onkel.pack(learner, learner.init(dim=3))
    >>> onkel.unpack(data)[0] == learner
    True
    """
    if isinstance(model, Model) and isinstance(state, ModelState):
        with turn(model, state):
            return _archived(_learner_entries(state.learner, state.inner, {"model": _described(model, state)}, extra))
    if not hasattr(model, "learn") or not hasattr(state, "outputs"):
        raise InputError(f"give a model or a learner, and its state; got {type(model).__name__} and {type(state).__name__}")
    return _archived(_learner_entries(model, state, {}, extra))


def _learner_entries(learner: Any, state: Any, about: dict[str, Any], extra: Extra | None) -> dict[str, bytes]:
    """The contents of every entry, by name; `about` is added to the header."""
    functions = {function_name(function): function for function in functions_of(learner)}
    if any(functions[function_name(function)] is not function for function in functions_of(learner)):
        raise InputError("two of your functions have the same name, and functions are saved by name; rename one of them")
    with turn(learner, state):
        if not _made_by(learner, state):
            raise InputError(f"this state is not one of {learner!r:.200}; save it with the learner that made it")
        if not learner.bounded:
            learner._hooks._check(state)  # what `load` would refuse must not replace a good file
        return _packed(learner, state, about, extra)


def _archived(entries: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name in list(entries):
            archive.writestr(zipfile.ZipInfo(name), entries.pop(name))  # with a fixed date, so that equal states give equal bytes
    return file.getvalue()


def _described(model: Model, state: ModelState) -> dict[str, Any]:
    """What a model's header contains besides its learner."""
    if odd := [label for label in state.labels if type(label) not in LABEL_KINDS]:
        raise InputError(
            f"the label {odd[0]!r:.60} is {type(odd[0]).__name__}; a file can hold only strings, numbers, True and False"
        )
    return {
        "config": to_json(model),
        "encoder": to_json(state.encoder),
        "encoded": state.encoded.to_json(),
        "target": to_json(state.target),
        "labels": list(state.labels),
    }


def _model(about: dict[str, Any], learner: Any, inner: Any, functions: dict[str, Callable[..., Any]]) -> tuple[Model, ModelState]:
    model, encoder, target = (from_json(about[name], functions) for name in ("config", "encoder", "target"))
    if not (isinstance(model, Model) and isinstance(encoder, Encoder) and isinstance(target, Target)):
        raise InputError("it does not describe a model")
    encoded = EncoderState.from_json(about["encoded"])
    state = owned(model, ModelState(encoder, target, learner, inner, encoded, list(about["labels"])))
    model.check(state)
    return model, state


def unpack(data: bytes, kernels: Functions = None, bases: Functions = None) -> tuple[Any, Any]:
    """(model, state) or (learner, state), as given to `pack`. The user's own kernels and bases must be passed again, by name.

    data      The bytes that `pack` made.
    kernels   Your own kernel functions, by the names that were saved; None if there are none.
    bases     Your own functions of features (`Basis`, `Listed`), by the names that were saved; None if there are none.
    """
    return unpack_all(data, kernels, bases)[:2]


def unpack_all(data: bytes, kernels: Functions = None, bases: Functions = None) -> tuple[Any, Any, Extra | None]:
    """(model, state, extra) or (learner, state, extra): `unpack`, with the extra that was packed."""
    if not isinstance(data, bytes | bytearray | memoryview):
        raise InputError(f"unpack takes the bytes that pack made, got {type(data).__name__}; load reads a file")
    with _refusals("cannot unpack this"):
        return _read(io.BytesIO(data), len(data), kernels, bases)


def save(path: str | os.PathLike[str], model: Any, state: Any, extra: Extra | None = None) -> None:
    """Write a model, or a bare learner, and its state to one file. An old file stays as it is until the new one is complete.

    path    The file, best with the ending .onkel.
    model   The model, or the bare learner.
    state   Its state.
    extra   An `Extra` of your own that is stored with them, for `persist.read`; None: nothing.

    >>> import tempfile, pathlib
    >>> learner = onkel.PKAWV(features=onkel.Taylor(degree=2))
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.onkel"
    >>> onkel.save(path, learner, learner.init(dim=3))
    >>> onkel.load(path)[0] == learner
    True
    """
    try:
        data = pack(model, state, extra)
    except FileError as error:
        raise failed(path, error) from None
    with replacing(path) as file:
        file.write(data)


def load(
    path: str | os.PathLike[str],
    kernels: dict[str, Callable[..., Any]] | None = None,
    bases: dict[str, Callable[..., Any]] | None = None,
) -> tuple[Any, Any]:
    """(model, state) or (learner, state) from a file that `save` wrote. The user's own kernels and bases must be passed by name.

    path      The file.
    kernels   Your own kernel functions, by the names that were saved; None if there are none.
    bases     Your own functions of features (`Basis`, `Listed`), by the names that were saved; None if there are none.
    """
    return read(path, kernels, bases)[:2]


def read(
    path: str | os.PathLike[str],
    kernels: dict[str, Callable[..., Any]] | None = None,
    bases: dict[str, Callable[..., Any]] | None = None,
) -> tuple[Any, Any, Extra | None]:
    """(model, state, extra) or (learner, state, extra): `load`, with the extra that was saved.

    >>> import tempfile, pathlib
    >>> learner, path = onkel.PKAWV(), pathlib.Path(tempfile.mkdtemp()) / "model.onkel"
    >>> onkel.save(path, learner, learner.init(dim=3), onkel.persist.Extra({"sensor": "roof"}, {}))
    >>> onkel.persist.read(path)[2].about
    {'sensor': 'roof'}
    """
    with _refusals(f"cannot load {path}"):
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise FileError("it is a folder or a device, not a file")
        with open(path, "rb") as file:
            return _read(file, os.path.getsize(path), kernels, bases)


def _read(
    file: BinaryIO, size: int, kernels: dict[str, Callable[..., Any]] | None, bases: dict[str, Callable[..., Any]] | None
) -> tuple[Any, Any, Extra | None]:  # fmt: skip
    """`read` from an open file of `size` bytes."""
    with zipfile.ZipFile(file) as archive:
        entries = _entries(archive, size)
    header, functions = _header(entries), {**(kernels or {}), **(bases or {})}
    learner = from_json(header["learner"], functions)
    extra = _extra(header, entries)
    state = _state(learner, header, entries)
    return (*(_model(header["model"], learner, state, functions) if "model" in header else (learner, state)), extra)


@contextmanager
def _refusals(what: str) -> Iterator[None]:
    """Turn every error into a `FileError` that begins with `what`."""
    try:
        yield
    except FileError as error:
        raise FileError(f"{what}: {error}") from None
    except FileNotFoundError:
        raise FileError(f"{what}: there is no such file") from None
    except (InputError, OSError) as error:
        raise FileError(f"{what}: {error}") from error
    except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError, UnicodeDecodeError) as error:
        raise FileError(f"{what}: it is not a whole .onkel file ({error}); it may be truncated or altered") from error
    except Exception as error:  # anything that a hostile file can provoke; none of its code has run
        raise FileError(f"{what}: its contents do not describe a learner ({type(error).__name__}: {error})") from error


def is_ours(path: str | os.PathLike[str]) -> bool:
    """Whether `save` may have written the file, judged only by the names of its entries."""
    try:
        with zipfile.ZipFile(path) as archive:
            return {HEADER, SUMS} <= set(archive.namelist())
    except (OSError, zipfile.BadZipFile):
        return False


def _made_by(learner: Any, state: Any) -> bool:
    """Whether the state fits the learner: by its size in bytes or, if that can grow, by the names of its arrays and numbers."""
    if learner.bounded:
        return bool(learner.footprint(state.dim, state.outputs) == nbytes(state))
    return [name for name, *_ in leaves(learner.init(state.dim, state.outputs))] == [name for name, *_ in leaves(state)]


def _packed(learner: Any, state: Any, about: dict[str, Any], extra: Extra | None = None) -> dict[str, bytes]:
    numbers: dict[str, int | float] = {}
    entries: dict[str, bytes] = {}
    for name, value, _ in leaves(state):
        if not np.isfinite(value).all():
            raise FileError(f"{name} holds NaN or infinity, which load would refuse")
        if isinstance(value, np.ndarray):
            entries[f"{name}.npy"] = _npy(value)
        else:
            numbers[name] = value
    header = {"format": FORMAT, "onkel": version("onkel"), "learner": to_json(learner), "numbers": numbers, **about}
    if extra is not None:
        header["more"] = extra.about
        entries |= {f"{EXTRA}{name}.npy": _npy(array) for name, array in extra.arrays.items()}
    entries[HEADER] = json.dumps(header, indent=1, allow_nan=False).encode()
    if _is_too_large(entries):
        size = len(entries[HEADER]) / 1e6
        raise FileError(f"its settings and strings take {size:.1f} MB, which load would refuse; hash long strings (hashed=…)")
    entries[SUMS] = "".join(f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in entries.items()).encode()
    return entries


def _npy(array: NDArray[Any]) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def _entries(archive: zipfile.ZipFile, size: int) -> dict[str, bytes]:
    """The bytes of every entry. No entry may be compressed or larger than the file, and all must match their checksums."""
    infos = archive.infolist()
    names = [info.filename for info in infos]
    if len(set(names)) < len(names) or any(
        info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size for info in infos
    ):
        raise FileError("it has compressed or duplicate entries, which save never writes")
    if HEADER not in names or SUMS not in names:
        raise FileError(f"it has no {HEADER} and {SUMS}; it is not an .onkel file")
    if sum(info.file_size for info in infos) > size:
        raise FileError("its entries claim more bytes than the file has")
    entries = {name: archive.read(name) for name in names}
    sums = "".join(f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in entries.items() if name != SUMS)
    if sums.encode() != entries[SUMS]:
        raise FileError("a checksum does not match; the file was altered or damaged")
    return entries


def _is_too_large(entries: dict[str, bytes]) -> bool:
    """Whether the header is too large for arrays of this size."""
    return len(entries[HEADER]) > LARGEST_JSON + 10 * sum(len(data) for name, data in entries.items() if name != HEADER)


def _header(entries: dict[str, bytes]) -> dict[str, Any]:
    if _is_too_large(entries):
        raise FileError(f"its {HEADER} is too large")
    header = json.loads(entries[HEADER])
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        found = header.get("format") if isinstance(header, dict) else header
        remedy = "update onkel, or save again with the version that wrote it"
        raise FileError(f"it has format {found!r:.60}, this onkel reads format {FORMAT}; {remedy}")
    return header


def _state(learner: Any, header: dict[str, Any], entries: dict[str, bytes]) -> Any:
    numbers = header["numbers"]
    arrays = {name: data for name, data in entries.items() if name not in (HEADER, SUMS)}
    dim, outputs = _number("dim", numbers["dim"], 1), _number("outputs", numbers["outputs"], 1)
    if learner.footprint(dim, outputs) > sum(map(len, arrays.values())) + 8 * len(numbers):
        raise FileError("its learner needs more memory than the file's arrays hold")
    fresh = learner.init(dim, outputs)
    values: dict[str, Any] = {}
    for name, model, mark in leaves(fresh):
        if isinstance(model, np.ndarray):
            values[name] = _array(name, arrays.pop(f"{name}.npy"), model, mark)
        else:
            values[name] = _number(name, numbers[name], model)
    if arrays or len(numbers) != sum(not isinstance(value, np.ndarray) for value in values.values()):
        raise FileError("it contains arrays or numbers that its learner does not have")
    state = filled(fresh, values)
    try:
        with np.errstate(all="ignore"):  # values of a hostile file may overflow; the check refuses them
            learner.check(state)
    except InputError as error:
        raise FileError(f"{error}; the file was altered, use another copy") from error
    return state


def _extra(header: dict[str, Any], entries: dict[str, bytes]) -> Extra | None:
    """What the caller saved with the model, if anything. Its arrays are removed from the entries."""
    if "more" not in header:
        return None
    arrays = {}
    for name in [name for name in entries if name.startswith(EXTRA)]:
        data = entries.pop(name)
        shape, by_column, dtype, start = _array_header(name, data)
        if dtype.kind not in "bif":
            raise FileError(f"{name} is {dtype}, but only bools and numbers are saved")
        arrays[name[len(EXTRA) : -len(".npy")]] = _values(name, data[start:], dtype, shape, by_column)
    return Extra(header["more"], arrays)


def _number(name: str, value: Any, model: int | float) -> Any:
    if type(value) is not type(model):
        raise FileError(f"{name} is {value!r:.60}, not {type(model).__name__}")
    if not (abs(value) < LARGEST_COUNT if isinstance(value, int) else np.isfinite(value)) or value < 0:
        raise FileError(f"{name} is {value!r:.60}, which no state can have")
    return value


def _array(name: str, data: bytes, model: np.ndarray[Any, Any], mark: Mark) -> np.ndarray[Any, Any]:
    shape, by_column, dtype, start = _array_header(name, data)
    if dtype != model.dtype or not _fits(shape, model.shape, mark.get(GROWING, ())):
        raise FileError(f"{name} is {dtype} {shape}, its learner has {model.dtype} {model.shape}")
    array = _values(name, data[start:], dtype, shape, by_column)
    if mark.get(FIXED) and not (_as_good(array, model) if array.dtype.kind == "f" else np.array_equal(array, model)):
        raise FileError(f"{name} differs from what its learner computes")
    if mark.get(COUNT):
        _number(name, int(array[0]), 0)
    return array


def _array_header(name: str, data: bytes) -> tuple[tuple[int, ...], bool, np.dtype[Any], int]:
    """Shape, whether it is stored by columns, type, and offset of the values."""
    file = io.BytesIO(data)
    if np.lib.format.read_magic(file) != (1, 0):
        raise FileError(f"{name} has an npy version that save does not write")
    return *np.lib.format.read_array_header_1_0(file, max_header_size=LARGEST_ARRAY_HEADER), file.tell()


def _values(name: str, data: bytes, dtype: np.dtype[Any], shape: tuple[int, ...], by_column: bool) -> NDArray[Any]:
    """The array in C order; NaN and infinity are refused. It takes no more memory than its bytes in the file."""
    array = np.array(np.frombuffer(data, dtype).reshape(shape, order="F" if by_column else "C"), order="C")
    if dtype.kind == "f" and not np.isfinite(array).all():
        raise FileError(f"{name} holds NaN or infinity")
    return array


def _fits(shape: tuple[int, ...], model: tuple[int, ...], growing: tuple[int, ...]) -> bool:
    """Whether a shape equals that of the fresh state, except on axes that may have grown."""
    return len(shape) == len(model) and all(
        length == fresh or (axis in growing and length > fresh)
        for axis, (length, fresh) in enumerate(zip(shape, model, strict=True))
    )


def _as_good(array: np.ndarray[Any, Any], model: np.ndarray[Any, Any]) -> bool:
    """Whether two arrays are equal up to rounding (which differs between machines)."""
    return bool(np.abs(array - model).max(initial=0.0) <= FIXED_TOLERANCE * np.abs(model).max(initial=0.0))
