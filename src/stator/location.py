"""Location: a span of the user's source."""

from __future__ import annotations

import ast
import linecache
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
        return f"{self.file.replace(chr(92), '/').rsplit('/', 1)[-1]}:{self.line}"

    def __str__(self) -> str:
        text = linecache.getline(self.file, self.line).rstrip()
        where = f"{self.file}:{self.line}, in {self.function}"
        if not text:
            return where
        caret = " " * self.column + "^"
        return f"{where}\n    {text}\n    {caret}"
