"""Looking inside: what became of a function, its program as a page, running it as it was written."""

from stator.debug.eager import eager
from stator.debug.report import Report
from stator.debug.view import view

__all__ = ["Report", "eager", "view"]
