"""Pictures of a page, as they are in docs/img: python -m tests.browser.pictures report.html docs/img

Light, dark, narrow and wide, each from the top, and the first page of paper.
"""

from __future__ import annotations

import io
import shutil
import sys
from pathlib import Path

from PIL import Image

COLOURS = 64
LOOKS = {
    "light": (1280, 1700, "light"),
    "dark": (1280, 1700, "dark"),
    "narrow": (320, 1700, "light"),
    "wide": (1920, 1200, "light"),
}


def main() -> None:
    from playwright.sync_api import sync_playwright

    page, folder = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for name, (width, height, scheme) in {**LOOKS, "print": (794, 1123, "light")}.items():
            shown = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
            shown.goto(page.as_uri())
            if name == "print":
                shown.emulate_media(media="print")
                shown.evaluate("dispatchEvent(new Event('beforeprint'))")
            if name == "light":
                box = shown.locator(".u-over").first.bounding_box()
                assert box is not None
                shown.mouse.move(box["x"] + 0.62 * box["width"], box["y"] + 80.0)
            shown.wait_for_timeout(200)
            drawn = Image.open(io.BytesIO(shown.screenshot())).convert("RGB")
            place = folder / f"report-{name}.png"
            drawn.quantize(COLOURS, dither=Image.Dither.NONE).save(place, optimize=True)
            print(f"{place}: {place.stat().st_size / 1000:.0f} kB")
        browser.close()


if __name__ == "__main__":
    main()
