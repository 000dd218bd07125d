"""Runs the notebooks of docs/notebooks: `python -m tests.docs.notebooks` stores what they show.

What is stored is text: printed lines, the text of values, and HTML as long as it is short (the
page of `view` is not).
"""

import copy
import os
import re
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

from tests.docs.documents import ROOT

FOLDER = ROOT / "docs" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
LONGEST = 20_000  # characters of HTML that a stored notebook has for one output
BACKEND = re.compile(r"^( *runs in: ).*$", re.MULTILINE)  # depends on what is built


def executed(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """A copy of `notebook` with the outputs of a run in a new kernel and an empty folder."""
    made = copy.deepcopy(notebook)
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    with tempfile.TemporaryDirectory() as folder:
        NotebookClient(made, timeout=300, resources={"metadata": {"path": folder}}).execute()
    for cell in made.cells:
        cell.metadata.pop("execution", None)  # times
        if cell.cell_type == "code":
            cell.outputs = [_kept(output) for output in cell.outputs]
    return made


def _kept(output: nbformat.NotebookNode) -> nbformat.NotebookNode:
    data = output.get("data", {})
    if len(data.get("text/html", "")) > LONGEST:
        del data["text/html"]
    return output


def shown(notebook: nbformat.NotebookNode) -> list[list[str]]:
    """What each code cell shows, as text."""
    return [_texts(cell.outputs) for cell in notebook.cells if cell.cell_type == "code"]


def _texts(outputs: list[nbformat.NotebookNode]) -> list[str]:
    """The texts of a cell; what is printed is one, in however many pieces it came."""
    texts: list[str] = []
    for before, output in zip([None, *outputs], outputs, strict=False):
        is_printed = output.output_type == "stream"
        if is_printed and before is not None and before.output_type == "stream":
            texts[-1] += _masked(output)
        else:
            texts.append(_masked(output))
    return texts


def _masked(output: nbformat.NotebookNode) -> str:
    text = output.text if output.output_type == "stream" else output.data["text/plain"]
    return BACKEND.sub(r"\1…", text)


def read(path: Path) -> nbformat.NotebookNode:
    """The notebook in a file."""
    return nbformat.read(path, as_version=4)


def main() -> None:
    """Store the outputs of each notebook that shows something else now."""
    for path in NOTEBOOKS:
        before = read(path)
        after = executed(before)
        is_new = shown(after) != shown(before)
        if is_new:
            nbformat.write(after, path)
        print(f"{path.relative_to(ROOT)}: {'written' if is_new else 'no change'}")


if __name__ == "__main__":
    main()
