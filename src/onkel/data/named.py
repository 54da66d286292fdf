"""Data by name: files in the folder that ONKEL_DATA names, the sets that come with scikit-learn and River, and generated streams.

    read("elec2"), read("diabetes"), read("TrumpApproval"), read("friedman")

ONKEL_DATA may also be the address of such a folder on the web (https://…). It must contain a manifest.json with the name, file,
bytes and sha256 of each set. A set is downloaded (by pooch) when it is first asked for, and kept in ~/.cache/onkel-data.
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

from onkel._extras import extra
from onkel._jit import is_watched
from onkel.data import generators
from onkel.errors import FileError, InputError, did_you_mean

FOLDER = "ONKEL_DATA"
GENERATED_ROWS = 10_000
SECONDS_TO_ANSWER = 20.0  # how long to wait for a server's answer
SUFFIXES = (".npz", ".csv", ".csv.gz", ".tsv", ".jsonl", ".svm", ".libsvm", ".parquet")

SCIKIT_LEARN = {  # the sets that it contains: task, rows, remark
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
    task: str  # "" if it is not known
    rows: int | None
    open: Callable[[], tuple[Any, Any]]  # the first arguments of `read`: rows (a file, a table or an array) and target
    remark: str = ""


def catalogue() -> Iterator[Named]:
    """All data sets that have a name, in the order in which names are looked up."""
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
    if is_watched() and not (_cached() / name).exists():
        print(f"downloading {link}, {size / 1e6:.1f} MB", file=sys.stderr)
    return _downloaded(link, f"sha256:{checksum}", name, _cached()), None


def _manifest(path: Path) -> list[dict[str, Any]]:
    try:
        entries = json.loads(path.read_text())["datasets"]
        for entry in entries:
            if not isinstance(entry["name"], str) or Path(entry["file"]).name != entry["file"]:
                raise ValueError("an entry needs a name and a plain file name")
            entry["sha256"], entry["bytes"] = str(entry["sha256"]), int(entry["bytes"])
    except (ValueError, KeyError, TypeError) as error:
        raise FileError(f"{path} is not a manifest of data sets ({error}); write it again") from None
    return list(entries)


class NoAnswer(FileError):
    """A server did not answer."""


def _cached() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "onkel-data"


def _newest_manifest(link: str) -> Path:
    """The manifest at this address.

    It may change, so it is downloaded each time; if the server does not answer, the copy of the last time is used.
    """
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
    """The file of this name in the folder. It is downloaded if it is not there with this checksum."""
    with extra("download", f"the download of {link}"):
        import pooch
    pooch.get_logger().setLevel("WARNING")  # otherwise it prints three lines for each download
    try:
        fetch = pooch.HTTPDownloader(timeout=SECONDS_TO_ANSWER)
        return Path(pooch.retrieve(link, checksum, name, folder, downloader=fetch))
    except OSError as error:  # all errors of requests are OSErrors
        raise NoAnswer(f"cannot download {link} ({error}); are you offline? Sets that are here already: onkel data") from None
    except ValueError:
        raise FileError(
            f"{link}: the checksum of the download does not match; try again, or tell whoever publishes the data"
        ) from None


def _from_scikit_learn(name: str) -> tuple[Any, Any]:
    with extra("arrow", "this data set"):
        import pyarrow
    with extra("sklearn", "this data set"):
        import sklearn.datasets

    found = getattr(sklearn.datasets, f"load_{name}")()
    columns = dict(zip(map(str, found.feature_names), found.data.T, strict=True))
    names = getattr(found, "target_names", ())
    labels = [str(names[code]) for code in found.target] if len(names) > 2 else found.target  # 0, 1, 2 would be taken as numbers
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
    with extra("arrow", "this data set"):
        import pyarrow

    try:
        if not getattr(made, "is_downloaded", True):
            made.download()
        rows = [{**x, "target": y} for x, y in made]
    except OSError as error:  # a URLError is an OSError
        raise FileError(f"River cannot download {type(made).__name__} ({error}); are you offline?") from None
    try:
        return pyarrow.Table.from_pylist(rows), "target"
    except pyarrow.ArrowException as error:
        remedy = "choose another data set, or convert its rows and pass them as dicts"
        raise InputError(f"River's {type(made).__name__} has a column that mixes types ({error}); {remedy}") from None
