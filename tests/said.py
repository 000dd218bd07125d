"""said(): the text of an error without its place, where that is the line of the call."""

from stator import StatorError


def said(error: StatorError) -> str:
    """Code, problem and fix; the fix that a whole class of errors has is left out."""
    assert error.at is not None
    head = f"[{error.code}] {error.problem}"
    return f"{head}\n  fix: {error.fix}" if error.fix != error.otherwise else head
