"""Location: a span of the user's source."""

from __future__ import annotations

import ast
import linecache
import sys
from dataclasses import dataclass


@dataclass(frozen=True)
class Location:
    """Where something is in the file its author wrote."""

    file: str
    line: int
    column: int
    function: str

    @classmethod
    def of(cls, node: ast.AST, *, file: str, function: str) -> Location:
        """The place of `node`, whose line numbers are those of `file`."""
        return cls(file, getattr(node, "lineno", 1), getattr(node, "col_offset", 0), function)

    @property
    def short(self) -> str:
        """`model.py:14`, for listings."""
        return f"{file_name(self.file)}:{self.line}"

    def __str__(self) -> str:
        text = linecache.getline(self.file, self.line).rstrip()
        where = f"{shown_file(self.file)}:{self.line}, in {self.function}"
        if not text:
            return where
        caret = " " * self.column + "^"
        return f"{where}\n    {text}\n    {caret}"


def shown_file(file: str) -> str:
    """`file` as a reader knows it: its path, or `Cell In[3]` for what a notebook's cell ran."""
    cell = _cell(file)
    return file if cell is None else f"Cell {cell}"


def file_name(file: str) -> str:
    """The last part of a path, of either system; `In[3]` for a cell of a notebook."""
    return _cell(file) or file.replace("\\", "/").rsplit("/", 1)[-1]


def _cell(file: str) -> str | None:
    """The cell whose code has this file name; IPython invents one for each cell."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    named = getattr(getattr(shell, "compile", None), "format_code_name", None)
    found = named(file) if named is not None else None
    return str(found[1]) if found else None
