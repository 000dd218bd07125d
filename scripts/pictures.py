"""Draws the pictures of the README and the docs: a terminal session as SVG, the viewer as PNG.

    python scripts/pictures.py [--only terminal|viewer|pages]

The commands are run for real; their output is what the terminal shows. The viewer needs Chromium,
which `scripts/browser` installs; the pages of docs/view.md also need the package transformers.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import torch
import transformers
from playwright.sync_api import Page, sync_playwright
from rich.console import Console
from rich.text import Text

import stator
from docs.examples import deciding

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
EXAMPLE = ROOT / "docs" / "examples" / "decoder.py"
WIDTH = 100
INPUT = '--input "state:float32[None,32]"'
SESSION = (
    f"stator explain decoder.py:Decoder {INPUT} --mode eval",
    f"stator save decoder.py:Decoder {INPUT} --mode eval -o decoder",
    'stator run decoder --input "state:float32[1,32]"',
)


def draw_terminal() -> None:
    """Run the session in a scratch folder and export what it printed as SVG."""
    with open(os.devnull, "w") as sink:
        console = Console(record=True, width=WIDTH, file=sink, force_terminal=True)
        with tempfile.TemporaryDirectory() as folder:
            for command in SESSION:
                console.print(Text.assemble(("$ ", "bold green"), (command, "bold")))
                console.print(Text.from_ansi(output_of(command, folder)))
                console.print()
        console.save_svg(str(IMAGES / "terminal.svg"), title="stator")


def output_of(command: str, folder: str) -> str:
    """What the command prints with colours, in a folder that has the example."""
    shutil.copy(EXAMPLE, folder)
    arguments = [sys.executable, "-m", *shlex.split(command)]
    environment = os.environ | {"FORCE_COLOR": "1", "COLUMNS": str(WIDTH), "TERM": "xterm-256color"}
    finished = subprocess.run(
        arguments, cwd=folder, env=environment, check=True, stdout=subprocess.PIPE, text=True
    )
    return finished.stdout.replace(f"{folder}/", "").rstrip()


@contextlib.contextmanager
def opened(file: str, width: int, height: int, *, dark: bool = False) -> Iterator[Page]:
    """The page of `file` in a browser, once it is drawn."""
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []  # root has no sandbox
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=arguments)
        page = browser.new_page(
            viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light"
        )
        page.goto(f"file://{file}")
        page.wait_for_timeout(500)
        yield page
        browser.close()


def picture(page: Page, name: str) -> None:
    """Take a picture of what is in sight now."""
    page.wait_for_timeout(500)
    page.screenshot(path=str(IMAGES / name))


def find(page: Page, words: str) -> None:
    """Search, and go to the first hit."""
    page.keyboard.press("/")
    page.keyboard.type(words)
    page.keyboard.press("Enter")
    page.evaluate("document.activeElement.blur()")  # closes the list of hits


def draw_viewer() -> None:
    """Write the page of the decoder, go to a line in its loop, and take a picture."""
    with tempfile.TemporaryDirectory() as folder:
        output_of(f"stator view decoder.py:Decoder {INPUT} -o decoder.html", folder)
        with opened(f"{folder}/decoder.html", 1440, 860) as page:
            find(page, ":21")  # the line of the cell, inside the loop
            picture(page, "viewer.png")


def draw_pages() -> None:
    """Take the pictures of docs/view.md: a loop with a branch, and GPT-2 at its layers."""
    with tempfile.TemporaryDirectory() as folder:
        small = stator.to_static(deciding.Deciding())
        small(torch.ones(2, dtype=torch.int64), torch.zeros(2, 16))
        stator.debug.view(small, f"{folder}/small.html")
        with opened(f"{folder}/small.html", 1200, 720) as page:
            find(page, ":22")  # the branch
            page.hover('#source .line:has(.number:text-is("22")) code', position={"x": 5, "y": 5})
            picture(page, "view-light.png")
        large = stator.to_static(transformers.GPT2LMHeadModel(transformers.GPT2Config()).eval())
        with torch.no_grad():
            large(torch.zeros(1, 8, dtype=torch.int64))
        stator.debug.view(large, f"{folder}/large.html")
        with opened(f"{folder}/large.html", 1100, 580, dark=True) as page:
            picture(page, "view-dark.png")


PICTURES = {"terminal": draw_terminal, "viewer": draw_viewer, "pages": draw_pages}


def main() -> None:
    """Draw all, or the one that is named."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", choices=PICTURES)
    only = parser.parse_args().only
    for name, draw in PICTURES.items():
        if only in (None, name):
            draw()


if __name__ == "__main__":
    main()
