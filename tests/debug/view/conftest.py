"""Pages of the viewer in a browser."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from stator.debug.view import page


@dataclass
class Reader:
    """Opens pages, and sees that nothing goes wrong on them."""

    browser: object
    folder: Path
    wrong: list

    def open(self, source, *, width=1500, height=1000, dark=False, checked=False, waits=True,
             **options):  # fmt: skip
        """The page of `source`, once its graph is drawn; `checked` lets a checker's script in."""
        file = self.folder / f"{len(list(self.folder.iterdir()))}.html"
        file.write_text(page(source, **options), encoding="utf-8")
        scheme = "dark" if dark else "light"
        tab = self.browser.new_page(
            viewport={"width": width, "height": height}, color_scheme=scheme, bypass_csp=checked
        )
        tab.on("pageerror", lambda error: self.wrong.append(str(error)))
        tab.on("console", lambda message: self.wrong.append(message.text))
        tab.on("request", lambda sent: self._look_at(sent.url))
        tab.set_default_timeout(10_000)
        tab.goto(file.as_uri())
        if waits:
            tab.wait_for_selector("#graph[data-drawn]")
        return tab

    def _look_at(self, url):
        if not url.startswith("file:"):
            self.wrong.append(f"the page asks for {url}")


@pytest.fixture
def reader(browser, tmp_path):
    """Opens pages; at the end, there was no error and no request."""
    folder = tmp_path / "pages"
    folder.mkdir()
    made = Reader(browser, folder, [])
    yield made
    for context in browser.contexts:
        context.close()
    assert made.wrong == []
