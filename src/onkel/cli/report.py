"""`onkel report`: a run whose result is one HTML page."""

from __future__ import annotations

from pathlib import Path

from onkel.cli.options import Inputs
from onkel.cli.pages import default_place
from onkel.cli.run import Outputs, run_file
from onkel.errors import InputError


def report_file(inputs: Inputs, learner: str | None, out: Path | None, seconds: float | None, as_json: bool) -> None:
    if seconds is not None and not seconds >= 0.0:
        raise InputError(f"--seconds must be at least 0, got {seconds}")
    place = default_place(inputs) if out is None else out
    run_file(inputs, learner, Outputs(html=place, html_option="--out", as_sentences=True, seconds=seconds, as_json=as_json))
