"""Data by name: files of the folder that ONKEL_DATA names, the sets that come with scikit-learn and River, and generated streams.

    read("elec2"), read("diabetes"), read("TrumpApproval"), read("friedman")

ONKEL_DATA may also be the address of such a folder (https://…), with a manifest.json that has the name, file, bytes and sha256 of
each set: a set is then downloaded (by pooch) when it is first asked for, and the copy kept in ~/.cache/onkel-data.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from onkel.data import generators
from onkel.errors import FileError, InputError, did_you_mean

FOLDER = "ONKEL_DATA"
GENERATED_ROWS = 10_000
SECONDS_TO_ANSWER = 20.0  # of a server
SUFFIXES = (".npz", ".csv", ".csv.gz", ".tsv", ".jsonl", ".svm", ".libsvm", ".parquet")

SCIKIT_LEARN = {  # bundled with it: task, rows, remark
    "breast_cancer": ("classification", 569, ""),
    "diabetes": ("regression", 442, ""),
    "digits": ("classification", 1797, "10 classes"),
    "iris": ("classification", 150, "3 classes, one after the other"),
    "wine": ("classification", 178, "3 classes, one after the other"),
}
GENERATED = {**dict.fromkeys(("smooth", "drifting", "abrupt", "friedman"), "regression"), "rings": "classification"}


@dataclass(frozen=True)
class Named:
    name: str
    origin: str
    task: str  # "" where it is not known
    rows: int | None
    open: Callable[[], tuple[Any, Any]]  # what `read` takes: a file, a table or an array, and the target
    remark: str = ""


def catalogue() -> Iterator[Named]:
    """Everything there is, in the order in which names are looked up."""
    yield from _folder()
    for name, (task, rows, remark) in SCIKIT_LEARN.items():
        yield Named(name, "scikit-learn", task, rows, functools.partial(_from_scikit_learn, name), remark)
    yield from _river()
    for name, task in GENERATED.items():
        yield Named(name, "generated", task, GENERATED_ROWS, functools.partial(getattr(generators, name), GENERATED_ROWS))


def find(name: str) -> Named:
    known = []
    for found in catalogue():
        if found.name == name:
            return found
        known.append(found.name)
    where = "" if os.environ.get(FOLDER) else f" (more with {FOLDER}=folder)"
    raise FileError(
        f"{name} does not exist, and no data has this name{where}; {did_you_mean(name, known)}check the path, or see: onkel data"
    )


def _folder() -> Iterator[Named]:
    place = os.environ.get(FOLDER, "")
    if place.startswith(("http://", "https://")):
        for entry in _manifest(_newest_manifest(f"{place.rstrip('/')}/manifest.json")):
            link = f"{place.rstrip('/')}/{entry['file']}"
            fetch = functools.partial(_remote, link, entry["sha256"], entry["bytes"])
            yield Named(entry["name"], place, _task(entry), entry.get("rows"), fetch, entry.get("order", ""))
        return
    if not place or not Path(place).is_dir():
        return
    listed = Path(place, "manifest.json")
    about = {entry["name"]: entry for entry in (_manifest(listed) if listed.is_file() else [])}
    for path in sorted(Path(place).iterdir()):
        if path.name.endswith(SUFFIXES):
            name = path.name.split(".")[0]
            entry = about.get(name, {})
            yield Named(name, FOLDER, _task(entry), entry.get("rows"), functools.partial(_local, path), entry.get("order", ""))


def _task(entry: dict[str, Any]) -> str:
    return str(entry.get("task", "")).removeprefix("binary_")


def _local(path: Path) -> tuple[Any, Any]:
    return path, None


def _remote(link: str, checksum: str, size: int) -> tuple[Any, Any]:
    name = f"{checksum[:16]}-{link.rsplit('/', 1)[-1]}"
    if sys.stderr and sys.stderr.isatty() and not (_cached() / name).exists():
        print(f"downloading {link}, {size / 1e6:.1f} MB", file=sys.stderr)
    return _downloaded(link, f"sha256:{checksum}", name, _cached()), None


def _manifest(path: Path) -> list[dict[str, Any]]:
    try:
        entries = json.loads(path.read_text())["datasets"]
        for entry in entries:
            if not isinstance(entry["name"], str) or Path(entry["file"]).name != entry["file"]:
                raise ValueError("a name or a file of it is none")
            entry["sha256"], entry["bytes"] = str(entry["sha256"]), int(entry["bytes"])
    except (ValueError, KeyError, TypeError) as error:
        raise FileError(f"{path} is not a manifest of data sets ({error}); write it again") from None
    return list(entries)


class NoAnswer(FileError):
    """Of a server."""


def _cached() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "onkel-data"


def _newest_manifest(link: str) -> Path:
    """It may change, so it is downloaded each time; where the server does not answer, that of the last time will do."""
    folder = _cached()
    kept = folder / f"{hashlib.sha256(link.encode()).hexdigest()[:16]}-manifest.json"
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with tempfile.TemporaryDirectory(dir=folder) as place:
            _downloaded(link, None, "manifest.json", Path(place)).replace(kept)
    except NoAnswer:
        if not kept.is_file():
            raise
    return kept


def _downloaded(link: str, checksum: str | None, name: str, folder: Path) -> Path:
    """The file of this name, fetched first where there is none with this checksum."""
    try:
        import pooch
    except ImportError:
        raise FileError(f"to download {link} the package pooch is needed: pip install 'onkel[download]'") from None
    pooch.get_logger().setLevel("WARNING")  # else each download takes three lines
    try:
        fetch = pooch.HTTPDownloader(timeout=SECONDS_TO_ANSWER)
        return Path(pooch.retrieve(link, checksum, name, folder, downloader=fetch))
    except OSError as error:  # every error of requests is one
        raise NoAnswer(f"cannot download {link} ({error}); are you offline? Sets that are here already: onkel data") from None
    except ValueError:
        raise FileError(f"{link}: the checksum of what arrived does not match; try again, or tell whoever keeps it") from None


def _from_scikit_learn(name: str) -> tuple[Any, Any]:
    import pyarrow
    import sklearn.datasets

    found = getattr(sklearn.datasets, f"load_{name}")()
    columns = dict(zip(map(str, found.feature_names), found.data.T, strict=True))
    names = getattr(found, "target_names", ())
    labels = [str(names[code]) for code in found.target] if len(names) > 2 else found.target  # 0, 1, 2 would be numbers
    return pyarrow.table({**columns, "target": labels}), "target"


def _river() -> Iterator[Named]:
    if importlib.util.find_spec("river") is None:
        return
    import river.datasets

    for name in river.datasets.__all__:
        kind = getattr(river.datasets, name)
        if not isinstance(kind, type):
            continue
        made = kind()
        task = str(made.task).lower().removeprefix("binary ").removeprefix("multi-class ")
        if task in ("regression", "classification"):
            remark = "" if getattr(made, "is_downloaded", True) else "to be downloaded"
            yield Named(name, "River", task, made.n_samples, functools.partial(_from_river, made), remark)


def _from_river(made: Any) -> tuple[Any, Any]:
    import pyarrow

    try:
        if not getattr(made, "is_downloaded", True):
            made.download()
        rows = [{**x, "target": y} for x, y in made]
    except OSError as error:  # URLError is one
        raise FileError(f"River cannot download {type(made).__name__} ({error}); are you offline?") from None
    try:
        return pyarrow.Table.from_pylist(rows), "target"
    except pyarrow.ArrowException as error:
        raise InputError(f"River's {type(made).__name__} is no table of one kind a column ({error})") from None
