"""Looking inside: what became of a function, and running it as it was written."""

from stator.debug.eager import eager
from stator.debug.report import Report

__all__ = ["Report", "eager"]
