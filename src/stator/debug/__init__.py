"""Looking inside: what became of a function, as text or as a page; running it as written."""

from stator.debug.eager import eager
from stator.debug.report import Report
from stator.debug.view import view

__all__ = ["Report", "eager", "view"]
