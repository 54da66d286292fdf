"""Data by name: from a folder, from scikit-learn and River, generated, downloaded; clear words where it cannot be had."""

from __future__ import annotations

import hashlib
import http.server
import json
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import onkel
from onkel.data import named
from onkel.errors import FileError, InputError
from onkel.model import read

pytestmark = pytest.mark.once


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "data"
    place.mkdir()
    X, y = onkel.data.rings(50)
    np.savez(place / "circles.npz", X=X, y=y)
    (place / "flats.csv").write_text("size,price\n1,2\n3,4\n")
    monkeypatch.setenv("ONKEL_DATA", str(place))
    monkeypatch.chdir(tmp_path)
    return place


def test_a_folder_of_files(folder: Path, tmp_path: Path) -> None:
    assert [(found.name, found.origin) for found in named.catalogue()][:2] == [("circles", "ONKEL_DATA"), ("flats", "ONKEL_DATA")]
    X, _ = next(iter(read("circles")))
    assert X.tobytes() == onkel.data.rings(50)[0].tobytes()
    np.testing.assert_array_equal(next(iter(read("flats", "price")))[1], [2, 4])
    about = {"name": "circles", "file": "circles.npz", "task": "binary_classification", "rows": 50, "sha256": "", "bytes": 1}
    (folder / "manifest.json").write_text(json.dumps({"datasets": [about]}))
    assert (named.find("circles").task, named.find("circles").rows) == ("classification", 50)
    (tmp_path / "circles").write_text("a,y\n1,2\n")  # a file of that name comes first
    with pytest.raises(FileError, match="cannot tell the format"):
        read("circles")


def test_no_such_name(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(
        FileError, match=r"circle does not exist, and no data has this name; did you mean 'circles'\? check the path"
    ):
        read("circle")
    monkeypatch.delenv("ONKEL_DATA")
    with pytest.raises(FileError, match=r"no data has this name \(more with ONKEL_DATA=folder\); check the path"):
        read("qqqqq")
    monkeypatch.setenv("ONKEL_DATA", str(folder / "nowhere"))
    with pytest.raises(FileError, match="no data has this name"):
        read("circles")


@pytest.mark.parametrize("name", named.SCIKIT_LEARN)
def test_what_comes_with_scikit_learn(name: str) -> None:
    import sklearn.datasets

    theirs = getattr(sklearn.datasets, f"load_{name}")()
    stream = read(name, block=10_000)
    X, y = next(iter(stream))
    assert X.tobytes() == np.ascontiguousarray(theirs.data).tobytes()
    labels = stream.labels
    expected = theirs.target if not labels else [labels.index(str(theirs.target_names[code])) for code in theirs.target]
    np.testing.assert_array_equal(y, expected)
    assert stream.names == tuple(theirs.feature_names)
    assert named.find(name).rows == len(y)
    assert len(labels) == (len(theirs.target_names) if name in ("digits", "iris", "wine") else 0)


@pytest.mark.parametrize("name", named.GENERATED)
def test_generated_streams(name: str) -> None:
    X, y = next(iter(read(name, block=20_000)))
    theirs = getattr(onkel.data, name)(10_000)
    assert X.tobytes() == theirs[0].tobytes()
    assert y.tobytes() == theirs[1].tobytes()


def test_what_comes_with_river() -> None:
    datasets = pytest.importorskip("river.datasets")
    stream = read("TrumpApproval", block=2000)
    X, y = next(iter(stream))
    rows = list(datasets.TrumpApproval())
    np.testing.assert_array_equal(y, [label for _, label in rows])
    np.testing.assert_array_equal(X, [[x[name] for name in stream.names] for x, _ in rows])
    assert read("Bananas").rows == 5300
    segments = read("ImageSegments", block=5000)
    list(segments)
    assert sorted(segments.labels) == sorted({label for _, label in datasets.ImageSegments()})
    assert named.find("Higgs").remark == "to be downloaded"


def test_downloading_needs_pooch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pooch", None)
    monkeypatch.setenv("ONKEL_DATA", "http://127.0.0.1:9/")
    with pytest.raises(InputError, match=r"requires pooch, which is not installed: pip install 'onkel\[download\]'"):
        read("circles")


@pytest.fixture
def server(folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    pytest.importorskip("pooch")

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments, directory=str(folder))

        def log_message(self, *_: Any) -> None:
            pass

    content = (folder / "circles.npz").read_bytes()
    entry = {"name": "circles", "file": "circles.npz", "sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
    (folder / "manifest.json").write_text(json.dumps({"datasets": [entry]}))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Quiet) as served:
        monkeypatch.setenv("ONKEL_DATA", f"http://127.0.0.1:{served.server_port}/")
        threading.Thread(target=served.serve_forever, daemon=True).start()
        yield folder
        served.shutdown()


def test_a_folder_to_download_from(server: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(next(iter(read("circles")))[1]) == 50
    (server / "circles.npz").unlink()
    assert len(next(iter(read("circles")))[1]) == 50  # from the copy
    (server / "manifest.json").unlink()
    assert len(next(iter(read("circles")))[1]) == 50
    monkeypatch.setenv("ONKEL_DATA", "http://127.0.0.1:9/")
    with pytest.raises(FileError, match=r"cannot download http://127\.0\.0\.1:9/manifest\.json .*; are you offline\?"):
        read("circles")


def test_downloads_that_fail(server: Path, tmp_path: Path) -> None:
    content = (server / "circles.npz").read_bytes()
    (server / "circles.npz").write_bytes(content[:-1] + b"x")
    with pytest.raises(FileError, match="the checksum of the download does not match"):
        read("circles")
    (server / "circles.npz").unlink()
    with pytest.raises(FileError, match=r"cannot download .*circles\.npz \(.*\); are you offline\?"):
        read("circles")
    assert [path.suffix for path in (tmp_path / "cache" / "onkel-data").iterdir()] == [".json"]
    (server / "manifest.json").write_text('{"datasets": [{"name": "a", "file": "../a", "sha256": "", "bytes": 1}]}')
    with pytest.raises(FileError, match="is not a manifest of data sets"):
        read("circles")
