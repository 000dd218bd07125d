"""Exceptions as data: taken apart, and made again without their constructors."""

import pytest

from stator.values.exceptions import (
    CaughtCause,
    ExceptionParts,
    add_note,
    adopt,
    exception_of,
    is_kept_inside,
    link,
    members_of,
    parts_of,
)


class Counted(OSError):
    __slots__ = ("limit",)
    made = 0

    def __init__(self, number, limit):
        type(self).made += 1
        super().__init__(number, "no such file", "path")
        self.limit = limit


def raised(error, cause=None):
    try:
        raise error from cause
    except type(error) as found:
        return found


def test_an_exception_is_made_of_its_parts_without_its_constructor():
    error = raised(Counted(2, 5), KeyError("k"))
    error.code = [1]
    error.add_note("a note")
    made, before = exception_of(Counted, parts_of(error, None)), Counted.made
    assert Counted.made == before
    assert (type(made), made.args, made.errno, made.filename) == (
        Counted, error.args, 2, "path",
    )  # fmt: skip
    assert (made.limit, made.code, made.__notes__) == (5, [1], ["a note"])
    assert (made.__cause__, made.__suppress_context__) == (error.__cause__, True)


def test_members_are_what_builtin_classes_keep_of_their_arguments():
    assert members_of(StopIteration(3)) == {"value": 3}
    assert members_of(ValueError("v")) == {}
    assert is_kept_inside(ValueError(), "args")
    assert not is_kept_inside(ValueError(), "code")


def test_what_a_run_was_handling_comes_last_in_the_chain():
    caught, error = KeyError("caught"), ValueError("v")
    error.__context__ = TypeError("t")
    error.__cause__ = CaughtCause()
    link(error, caught)
    assert error.__context__.__context__ is caught
    assert error.__cause__ is caught
    link(error, caught)
    assert caught.__context__ is None


def test_an_exception_keeps_its_traceback_where_it_adopts_parts():
    error = raised(ValueError("v"), KeyError("k"))
    trace, cause = error.__traceback__, error.__cause__
    parts = ExceptionParts(("w",), {"code": 1}, cause=KeyError("l"), suppresses=True)
    adopt(error, exception_of(ValueError, parts))
    assert (error.args, error.code, error.__traceback__) == (("w",), 1, trace)
    assert (error.__cause__, cause.args) == (cause, ("l",))


@pytest.mark.parametrize("notes", [(), ("first",)])
def test_a_note_is_added_to_another_list(notes):
    error = ValueError("v")
    for note in notes:
        error.add_note(note)
    before = getattr(error, "__notes__", None)
    add_note(error, "last")
    assert error.__notes__ == [*notes, "last"]
    assert error.__notes__ is not before
