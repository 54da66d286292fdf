"""Where blocks (X, y) come from: files and generators."""

from __future__ import annotations

from onkel.data.files import Stream, read
from onkel.data.generators import abrupt, drifting, friedman, rings, smooth

__all__ = ["Stream", "abrupt", "drifting", "friedman", "read", "rings", "smooth"]
