"""Altered `.onkel` files: refused with a FileError, or the same state; with right sums around wrong contents, no crash either."""

from __future__ import annotations

import hashlib
import io
import json
import random
import tempfile
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

import onkel
from tests.fuzz.isolated import isolated
from tests.fuzz.subjects import Block, block, subject, warmed_up
from tests.laws.cases import Case, bits

Entries = dict[str, bytes]

HEADER, SUMS = "onkel.json", "SHA256SUMS"
ODD: tuple[Any, ...] = (
    0,
    1,
    -1,
    2,
    7,
    2**31,
    2**62,
    2**63,
    10**30,
    0.5,
    -0.0,
    1e-320,
    1e308,
    float("nan"),
    float("inf"),
    "",
    "x",
    None,
    True,
    [],
    {},
    [[]],
)
ALTERATIONS = 30  # of one file


def trial(rng: random.Random) -> None:
    case = subject(rng)
    state, rows = warmed_up(case, rng, most=200), block(case, rng, 20, least=1)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.onkel")
        onkel.save(path, case.learner, state)
        content, right = path.read_bytes(), bits(state)
        for _ in range(ALTERATIONS):
            path.write_bytes(damaged(rng, content))
            found = _believed(path)
            assert found is None or bits(found[1]) == right, f"{case.name}: an altered file was believed"
            _zip_again(rng, path, content)
            found = _believed(path)
            assert found is None or bits(found[1]) == right, f"{case.name}: a file packed in another way gives another state"
        isolated(lambda: _forge(rng, path, content, case, rows))


def damaged(rng: random.Random, content: bytes) -> bytes:
    """Bits flipped; pieces cut off or out, doubled, swapped, overwritten."""
    a, b, c = sorted(rng.randrange(len(content) + 1) for _ in range(3))
    flipped = bytearray(content)
    flipped[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    return rng.choice(
        [
            bytes(flipped),
            content[:a],
            content[:a] + content[b:],
            content[:b] + content[a:],
            content[:a] + content[b:c] + content[a:b] + content[c:],
            content[:a] + rng.randbytes(b - a) + content[b:],
            content[:a] + rng.randbytes(3) + content[a:],
            content[:a] + bytes(b - a) + content[b:],
        ]
    )


def _believed(path: Path) -> tuple[Any, Any] | None:
    try:
        return onkel.load(path)
    except onkel.FileError as error:
        said = str(error)
    assert said.startswith(f"cannot load {path}: "), said
    return None


def _entries(content: bytes) -> Entries:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _write(path: Path, members: list[tuple[str, bytes]], method: int = zipfile.ZIP_STORED) -> None:
    with zipfile.ZipFile(path, "w", method) as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a name that is there twice
        for name, data in members:
            archive.writestr(name, data)


def _zip_again(rng: random.Random, path: Path, content: bytes) -> None:
    """The same members: shuffled, compressed, doubled, renamed, left out, or exchanged."""
    members = list(_entries(content).items())
    i, j = rng.randrange(len(members)), rng.randrange(len(members))
    match rng.randrange(5):
        case 0:
            rng.shuffle(members)
        case 1:
            members.append(members[i])
        case 2:
            del members[i]
        case 3:
            members[i] = (rng.choice(["../x", "x.npy", members[i][0].upper(), members[i][0] + "\0"]), members[i][1])
        case 4:
            members[i], members[j] = (members[i][0], members[j][1]), (members[j][0], members[i][1])
    _write(path, members, rng.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED]))


def _forge(rng: random.Random, path: Path, content: bytes, case: Case, rows: Block) -> None:
    """Other contents under right sums. What is believed can be used: whatever it answers, nothing but our errors comes out."""
    for _ in range(ALTERATIONS):
        entries = _entries(content)
        name = rng.choice([name for name in entries if name != SUMS])
        entries[name] = (_other_header if name == HEADER else _other_array)(rng, entries[name])
        sums = "".join(f"{hashlib.sha256(data).hexdigest()}  {each}\n" for each, data in entries.items() if each != SUMS)
        _write(path, list({**entries, SUMS: sums.encode()}.items()))
        if (found := _believed(path)) is not None:
            _use(f"{case.name}, {name} forged", *found, rows)


def _use(what: str, learner: Any, state: Any, rows: Block) -> None:
    try:
        learner.predict(state, rows.X)
        learner.learn(state, *rows)
    except onkel.InputError:
        pass  # another width, or a learner of another task
    except Exception as error:
        raise AssertionError(f"{what}: believed, then {type(error).__name__}: {error}") from error


def _other_header(rng: random.Random, data: bytes) -> bytes:
    """One value of the JSON replaced."""
    header = json.loads(data)
    places = list(_places(header))
    holder, key = rng.choice(places)
    holder[key] = rng.choice([rng.choice(ODD), *(other[name] for other, name in rng.sample(places, min(2, len(places))))])
    try:
        return json.dumps(header).encode()
    except ValueError:  # it holds itself
        return data


def _places(part: Any) -> Any:
    """Every (holder, key) of a nested value."""
    for key in part if isinstance(part, dict) else range(len(part)) if isinstance(part, list) else ():
        yield part, key
        yield from _places(part[key])


@np.errstate(over="ignore")  # infinity where a type cannot hold the number
def _other_array(rng: random.Random, data: bytes) -> bytes:
    """One number replaced, or rows left out, or another type."""
    array = np.load(io.BytesIO(data))
    if array.size and rng.random() < 0.7:
        whole = [0, 1, -1, 3, *(2**bits - 1 for bits in range(7, 8 * array.itemsize, 8))]  # of as many bytes as it has
        values = whole if array.dtype.kind in "iu" else [0.0, -1.0, 1e-300, 1e300, np.nan, float(array.flat[0])]
        array.flat[rng.randrange(array.size)] = rng.choice(values)
    else:
        array = rng.choice([array[:-1] if array.ndim else array, array[..., :0] if array.ndim else array, array.astype(np.float32)])
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()
