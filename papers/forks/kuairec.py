"""KuaiRec's small matrix (section 5.3, appendix I) as a stream: will this user watch more than three quarters of this video?

The folder ONKEL_DATA/kuairec must hold three of the published files (kuairec.com, version 2.0):

    small_matrix.csv          who watched what, when, for how long     joined with
    user_features.csv         one row a user                           on user_id
    item_daily_features.csv   one row a video and day                  on video_id and date

A row's label is +1 where watch_ratio > 0.75, else −1. Rows come in the order of timestamp; those without label, keys or timestamp
are left out and counted (the paper's 4,494,578 rows are what remains of 4,676,570).

Features are the numbers of the three files, except play_duration and watch_ratio of the row itself, which give the label; times and
dates; ids (of author, music, tag); and texts (degree of activity, ranges of what is there as a number too, type, status and tag of
the video). onehot_feat0 … 17 are codes of categories and come as they are. Missing values become 0 and are counted. The counters of
a video are those of its whole day, so they look ahead by hours, in the paper's experiment as here.

Departs from the paper: the paper's code has one column for each category of the users, the 31 tags of item_categories.csv, and six
ratios of the counters instead of the counters.
"""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
from numpy.typing import NDArray

from onkel.errors import FileError

Array = NDArray[np.float64]
Counts = NDArray[np.int64]

WATCHED = 0.75  # a row is positive if more than this share of the video was watched
LOG, USERS, VIDEOS = "small_matrix.csv", "user_features.csv", "item_daily_features.csv"
NEEDED = {  # columns that the files of version 2.0 have
    LOG: ["user_id", "video_id", "date", "timestamp", "watch_ratio", "video_duration"],
    USERS: [
        *("user_id", "is_lowactive_period", "is_live_streamer", "is_video_author"),
        *("follow_user_num", "fans_user_num", "friend_user_num", "register_days"),
        *(f"onehot_feat{i}" for i in range(18)),
    ],
    VIDEOS: ["video_id", "date", "video_width", "video_height", "show_cnt"],
}
NO_FEATURES = {  # columns of a video's day
    *("video_id", "date", "author_id", "music_id", "video_tag_id"),
    *("video_type", "upload_dt", "upload_type", "visible_status", "video_tag_name"),
    "video_duration",  # the log has it, and for every row
}
MISSING = ["", "nan", "NaN", "NULL", "null"]
DAYS = 1e8  # dates are numbers of eight digits, 20200705


@dataclass
class KuaiRec:
    """The stream, kept as three tables: at full size the joined rows would take gigabytes."""

    names: list[str]  # of the features: those of the log, of the user, of the video
    y: Array  # (rows,) -1 or +1
    duration: Array  # (rows,)
    user: Counts  # (rows,)  the row of `users`
    video: Counts  # (rows,)  the row of `videos`
    users: Array
    videos: Array
    left_out: int  # rows without label, keys or timestamp
    filled: dict[str, int]  # feature -> in how many rows of the stream it is missing, and 0; only those with any

    def rows(self, start: int, stop: int) -> Array:
        """X of these rows."""
        part = slice(start, stop)
        return np.hstack([self.duration[part, None], self.users[self.user[part]], self.videos[self.video[part]]])

    def blocks(self, size: int = 1024) -> Iterator[tuple[Array, Array]]:
        """The stream, as `onkel.prequential` takes it."""
        for start in range(0, len(self.y), size):
            yield self.rows(start, start + size), self.y[start : start + size]


def load(folder: Path | None = None) -> KuaiRec:
    """The stream from the three files in `folder`; by default ONKEL_DATA/kuairec."""
    folder = folder or _folder()
    log = _read(folder / LOG, NEEDED[LOG])
    user_names = NEEDED[USERS][1:]
    users = _read(folder / USERS, ["user_id", *user_names])
    video_names = [name for name in _header(folder / VIDEOS) if name not in NO_FEATURES]
    videos = _read(folder / VIDEOS, ["video_id", "date", *video_names])

    known = ~np.isnan(np.column_stack([log[name] for name in NEEDED[LOG][:-1]])).any(axis=1)
    order = np.flatnonzero(known)[np.argsort(log["timestamp"][known], kind="stable")]
    log = {name: values[order] for name, values in log.items()}

    user, user_rows = _joined(folder / USERS, log["user_id"], users["user_id"], [users[name] for name in user_names])
    day, days = (part["video_id"] * DAYS + part["date"] for part in (log, videos))
    video, video_rows = _joined(folder / VIDEOS, day, days, [videos[name] for name in video_names])

    names = ["video_duration", *(f"user: {name}" for name in user_names), *(f"video: {name}" for name in video_names)]
    gaps = [
        np.isnan(log["video_duration"]).sum(keepdims=True),
        np.bincount(user, minlength=len(user_rows)) @ np.isnan(user_rows),
        np.bincount(video, minlength=len(video_rows)) @ np.isnan(video_rows),
    ]
    return KuaiRec(
        names=names,
        y=np.where(log["watch_ratio"] > WATCHED, 1.0, -1.0),
        duration=np.nan_to_num(log["video_duration"]),
        user=user,
        video=video,
        users=np.nan_to_num(user_rows),
        videos=np.nan_to_num(video_rows),
        left_out=int(np.sum(~known)),
        filled={name: int(gap) for name, gap in zip(names, np.concatenate(gaps), strict=True) if gap},
    )


def _folder() -> Path:
    data = os.environ.get("ONKEL_DATA")
    if not data:
        raise FileError("KuaiRec is read from ONKEL_DATA/kuairec: set ONKEL_DATA to the folder that has the folder kuairec")
    return Path(data) / "kuairec"


def _header(path: Path) -> list[str]:
    if not path.is_file():
        raise FileError(f"{path} is missing: put {LOG}, {USERS} and {VIDEOS} there, from the KuaiRec archive of kuairec.com")
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        header = next(csv.reader(file), [])
    lacking = [name for name in NEEDED[path.name] if name not in header]
    if lacking:
        found = ", ".join(header[:8]) or "nothing"
        raise FileError(
            f"{path} has no column {lacking[0]} (its header begins with {found}); take the file of version 2.0, unchanged"
        )
    return header


def _read(path: Path, names: list[str]) -> dict[str, Array]:
    """These columns as numbers; NaN where nothing is written."""
    header = _header(path)
    options = pa.csv.ConvertOptions(
        include_columns=names, column_types=dict.fromkeys(names, pa.float64()), null_values=MISSING, strings_can_be_null=True
    )
    try:
        table = pa.csv.read_csv(path, convert_options=options)
    except pa.ArrowInvalid as error:
        where = re.search(r"CSV column #(\d+)", str(error))
        column = f", column {header[int(where[1])]}" if where else ""
        raise FileError(f"{path}{column}: {error}; take the file of version 2.0, unchanged") from None
    return {name: table[name].to_numpy() for name in names}


def _joined(path: Path, wanted: Array, keys: Array, columns: list[Array]) -> tuple[Counts, Array]:
    """For each wanted key, the row of the second array that belongs to it. The second array holds the columns of the file, in the
    order of the keys, and a last row of NaN for keys that are not in the file.

    Keys are whole numbers far below 2⁵³ but stored as floats, since a column with gaps is written as 20200705.0. NaN equals no key.
    """
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    twice = keys[1:][keys[1:] == keys[:-1]]
    if twice.size:
        key = f"user_id {twice[0]:.0f}" if path.name == USERS else f"video_id {twice[0] // DAYS:.0f} and date {twice[0] % DAYS:.0f}"
        raise FileError(f"{path} has two rows with {key}; keep one of them")
    place = np.searchsorted(keys, wanted)
    found = np.append(keys, np.nan)[place] == wanted
    table = np.vstack([np.column_stack(columns)[order], np.full(len(columns), np.nan)])
    return np.where(found, place, len(keys)), table
