"""The reader of KuaiRec's files, on small files of their shape."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import onkel
from papers.forks import kuairec

pytestmark = pytest.mark.once

Rows = list[dict[str, Any]]

USER = {
    "user_active_degree": "full_active", "is_lowactive_period": 0, "is_live_streamer": 0, "is_video_author": 1,
    "follow_user_num": 5, "follow_user_num_range": "(0,10]", "fans_user_num": 7, "fans_user_num_range": "[1,10)",
    "friend_user_num": 2, "friend_user_num_range": "[1,5)", "register_days": 107, "register_days_range": "61-90",
    **{f"onehot_feat{i}": i for i in range(18)},
}  # fmt: skip
VIDEO = {
    "author_id": 3309, "video_type": "NORMAL", "upload_dt": "2020-03-30", "upload_type": "ShortImport", "visible_status": "public",
    "video_duration": 5966.0, "video_width": 720, "video_height": 1280, "music_id": 3350323409, "video_tag_id": 841,
    "video_tag_name": "建筑", "show_cnt": 11, "play_progress": 0.5, "follow_user_num": 13,
}  # fmt: skip


def watched(user: int, video: int, at: Any, ratio: Any, day: Any = "20200705.0", duration: Any = 6067) -> dict[str, Any]:
    """A row of the log; days are written with a point, as in the published file, whose column has gaps."""
    return {
        "user_id": user, "video_id": video, "play_duration": 4381, "video_duration": duration,
        "time": "2020-07-05 05:27:48.378", "date": day, "timestamp": at, "watch_ratio": ratio,
    }  # fmt: skip


LOG = [
    watched(14, 148, 1593898068.5, 0.76, duration=1000),
    watched(14, 183, 1593898060.25, 0.75, duration=2000),  # earlier, and exactly at the threshold
    watched(19, 148, "", 2.0, day=""),  # no time, as in 4 % of the rows
    watched(19, 148, 1593898070, 3.5, duration=3000),
    watched(20, 148, 1593898080, 0.1, day="20200706.0", duration=""),  # an unknown user, an unknown day, no duration
]
USERS = [{"user_id": 19, **USER, "follow_user_num": 50, "onehot_feat4": ""}, {"user_id": 14, **USER}]
VIDEOS = [
    {"video_id": 183, "date": 20200705, **VIDEO, "show_cnt": 12, "play_progress": ""},
    {"video_id": 148, "date": 20200705, **VIDEO},
    {"video_id": 148, "date": 20200704, **VIDEO, "show_cnt": 999},
]


def write(folder: Path, log: Rows = LOG, users: Rows = USERS, videos: Rows = VIDEOS) -> Path:
    for name, rows in ((kuairec.LOG, log), (kuairec.USERS, users), (kuairec.VIDEOS, videos)):
        with (folder / name).open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, fieldnames=list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    return folder


def column(found: kuairec.KuaiRec, name: str) -> list[float]:
    values: list[float] = found.rows(0, len(found.y))[:, found.names.index(name)].tolist()
    return values


class TestRows:
    def test_labels_in_the_order_of_time(self, tmp_path: Path) -> None:
        found = kuairec.load(write(tmp_path))
        assert found.y.tolist() == [-1.0, 1.0, 1.0, -1.0]
        assert column(found, "video_duration") == [2000.0, 1000.0, 3000.0, 0.0]
        assert found.left_out == 1

    def test_rows_of_one_moment_stay_in_the_order_of_the_file(self, tmp_path: Path) -> None:
        log = [watched(14, 148, 1593898068.5, 1.0, duration=i) for i in range(50)]
        assert column(kuairec.load(write(tmp_path, log)), "video_duration") == [float(i) for i in range(50)]

    @pytest.mark.parametrize("name", ["user_id", "video_id", "date", "timestamp", "watch_ratio"])
    def test_a_row_without_label_key_or_time_is_left_out(self, tmp_path: Path, name: str) -> None:
        found = kuairec.load(write(tmp_path, [LOG[0], {**LOG[1], name: ""}]))
        assert found.y.tolist() == [1.0]
        assert found.left_out == 1

    def test_users_and_videos_are_joined_by_their_keys(self, tmp_path: Path) -> None:
        found = kuairec.load(write(tmp_path))
        assert column(found, "user: follow_user_num") == [5.0, 5.0, 50.0, 0.0]
        assert column(found, "video: follow_user_num") == [13.0, 13.0, 13.0, 0.0]
        assert column(found, "video: show_cnt") == [12.0, 11.0, 11.0, 0.0]  # never the 999 of another day
        assert column(found, "user: onehot_feat17") == [17.0, 17.0, 17.0, 0.0]

    def test_what_is_missing_is_zero_and_counted(self, tmp_path: Path) -> None:
        found = kuairec.load(write(tmp_path))
        assert column(found, "video: play_progress") == [0.0, 0.5, 0.5, 0.0]
        assert column(found, "user: onehot_feat4") == [4.0, 4.0, 0.0, 0.0]
        assert found.filled["video_duration"] == 1
        assert found.filled["video: play_progress"] == 2
        assert found.filled["user: onehot_feat4"] == 2
        assert found.filled["user: register_days"] == 1
        assert set(found.filled) == set(found.names)  # the last row has neither user nor video
        assert kuairec.load(write(tmp_path, LOG[:1])).filled == {}

    def test_only_numbers_and_nothing_that_gives_the_label_away(self, tmp_path: Path) -> None:
        found = kuairec.load(write(tmp_path))
        assert len(found.names) == 1 + 25 + 5 == found.rows(0, 2).shape[1]
        named = {name.split(": ")[-1] for name in found.names}
        assert not named & {
            "play_duration",
            "watch_ratio",
            "timestamp",
            "date",
            "user_id",
            "video_id",
            "author_id",
            "video_tag_name",
        }

    def test_a_counter_of_a_later_version_is_taken(self, tmp_path: Path) -> None:
        found = kuairec.load(write(tmp_path, videos=[{**row, "new_cnt": 3} for row in VIDEOS]))
        assert column(found, "video: new_cnt") == [3.0, 3.0, 3.0, 0.0]

    def test_blocks_are_a_stream(self, tmp_path: Path) -> None:
        found = kuairec.load(write(tmp_path, LOG * 20))
        X = np.concatenate([X for X, _ in found.blocks(7)])
        assert np.array_equal(X, found.rows(0, 80))
        trace = onkel.prequential(onkel.PKAWV(features=(onkel.Standardize(), onkel.Identity())), found.blocks(7))
        assert trace.rows == 80
        assert np.array_equal(trace.y, found.y)

    def test_the_folder_comes_from_the_environment(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "kuairec").mkdir()
        write(tmp_path / "kuairec")
        monkeypatch.setenv("ONKEL_DATA", str(tmp_path))
        assert len(kuairec.load().y) == 4
        monkeypatch.delenv("ONKEL_DATA")
        with pytest.raises(onkel.FileError, match="set ONKEL_DATA to the folder that has the folder kuairec"):
            kuairec.load()


class TestErrors:
    @pytest.mark.parametrize("name", [kuairec.LOG, kuairec.USERS, kuairec.VIDEOS])
    def test_a_missing_file(self, tmp_path: Path, name: str) -> None:
        (write(tmp_path) / name).unlink()
        with pytest.raises(onkel.FileError, match=rf"{name} is missing: put small_matrix\.csv, .* there, from the KuaiRec archive"):
            kuairec.load(tmp_path)

    @pytest.mark.parametrize(
        ("part", "name"), [("log", "watch_ratio"), ("users", "register_days"), ("videos", "date"), ("videos", "show_cnt")]
    )
    def test_a_missing_column(self, tmp_path: Path, part: str, name: str) -> None:
        rows = [{k: v for k, v in row.items() if k != name} for row in {"log": LOG, "users": USERS, "videos": VIDEOS}[part]]
        write(tmp_path, **{part: rows})
        with pytest.raises(
            onkel.FileError, match=rf"\.csv has no column {name} \(its header begins with .*version 2\.0, unchanged"
        ):
            kuairec.load(tmp_path)

    def test_an_empty_file(self, tmp_path: Path) -> None:
        (write(tmp_path) / kuairec.LOG).write_text("")
        with pytest.raises(onkel.FileError, match=r"no column user_id \(its header begins with nothing\)"):
            kuairec.load(tmp_path)

    def test_text_where_a_number_belongs(self, tmp_path: Path) -> None:
        write(tmp_path, users=[{**USERS[0], "fans_user_num": "many"}, USERS[1]])
        with pytest.raises(onkel.FileError, match=r"user_features\.csv, column fans_user_num: .*many.*unchanged"):
            kuairec.load(tmp_path)

    def test_two_rows_for_one_key(self, tmp_path: Path) -> None:
        with pytest.raises(onkel.FileError, match=r"user_features\.csv has two rows with user_id 14; keep one"):
            kuairec.load(write(tmp_path, users=[*USERS, USERS[1]]))
        with pytest.raises(
            onkel.FileError, match=r"daily_features\.csv has two rows with video_id 148 and date 20200704; keep one"
        ):
            kuairec.load(write(tmp_path, videos=[*VIDEOS, VIDEOS[2]]))
