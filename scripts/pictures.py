"""Draws the pictures of the README: a terminal session as SVG and the viewer as PNG.

    python scripts/pictures.py [--only terminal|viewer]

The commands are run for real; their output is what the terminal shows. The viewer needs Chromium,
which `scripts/browser` installs.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright
from rich.console import Console
from rich.text import Text

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


def draw_viewer() -> None:
    """Write the page of the decoder, go to a line in its loop, and take a picture."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        output_of(f"stator view decoder.py:Decoder {INPUT} -o decoder.html", folder)
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium")
        page = browser.new_page(viewport={"width": 1440, "height": 860})
        page.goto(f"file://{folder}/decoder.html")
        page.wait_for_timeout(500)
        page.keyboard.press("/")
        page.keyboard.type(":21")  # the line of the cell, inside the loop
        page.keyboard.press("Enter")
        page.evaluate("document.activeElement.blur()")  # closes the list of hits
        page.wait_for_timeout(500)
        page.screenshot(path=str(IMAGES / "viewer.png"))
        browser.close()


def main() -> None:
    """Draw both, or the one that is named."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", choices=("terminal", "viewer"))
    only = parser.parse_args().only
    if only != "viewer":
        draw_terminal()
    if only != "terminal":
        draw_viewer()


if __name__ == "__main__":
    main()
