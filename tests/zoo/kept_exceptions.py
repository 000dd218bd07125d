"""Exceptions as values: joined by branches, kept after their handler, with causes and notes."""

from __future__ import annotations

from tests.zoo.programs import f, program

PATHS = (
    (f(1.0, 2.0, -3.0),),
    (f(-1.0, -2.0, 0.5),),
    (f(4.0, 5.0, 6.0),),
    (f(4.0, -9.0, 1.0),),
)


class Coded(ValueError):
    """Its arguments are not those of its constructor."""

    def __init__(self, code, x):
        super().__init__(f"code {code}")
        self.code, self.x = code, x


@program(*PATHS)
def exception_chosen_by_a_branch(x):
    """Its fields and arguments come from the path taken."""
    error = None
    if x[0] > 2:
        error = Coded(1, x)
    elif x[0] < 0:
        error = Coded(2, x * 2)
    if error is None:
        return 0
    return error.code, error.x, str(error), error.args


@program(*PATHS)
def exceptions_in_a_list(x):
    """Of two classes, with numbers of the run."""
    errors = []
    for v in x:
        if v > 0:
            errors.append(ValueError(v.item()))
        if v < -2:
            errors.append(KeyError("low"))
    return [type(error).__name__ for error in errors], [error.args for error in errors]


@program(*PATHS, may_raise=True)
def last_error_is_raised(x):
    """What a handler has caught is the cause after the loop."""
    last = None
    for k in range(3):
        try:
            if x[0] < k + 1:
                raise ValueError(f"attempt {k}: {x[0].item()}")
            return x * k
        except ValueError as error:
            last = error
    raise RuntimeError("all failed") from last


@program(*PATHS)
def cause_of_a_caught_exception(x):
    """`__cause__` and `__context__`, also where two exceptions may be the context."""
    try:
        try:
            if x[0] < 0:
                raise KeyError("first", 3)
            if x[1] < 0:
                raise IndexError("second")
            x = x + 1
        except KeyError as error:
            raise ValueError("third") from error
        except IndexError:
            raise ValueError("fourth") from None
    except ValueError as error:
        context = error.__context__
        is_same = error.__cause__ is context
        return type(context).__name__, context.args, is_same, error.__suppress_context__
    return x


@program(*PATHS)
def caught_exception_is_kept_in_a_list(x):
    """Used after the handler, and raised again from where it was kept."""
    try:
        try:
            if x[0] < 0:
                raise Coded(3, x)
            if x[1] < 0:
                raise KeyError(x[1].item())
        except Exception as error:
            kept = [error]
            if x[2] > 0:
                raise
            raise kept[0]  # noqa: B904  # the context is not what is shown
    except Coded as error:
        return error.code, error.x
    except KeyError as error:
        return error.args
    return 0


@program(*PATHS)
def notes_with_numbers(x):
    """A note has a number of the run, and the handler adds another."""
    try:
        if x[0] < 0:
            error = ValueError("a")
            error.add_note(f"note {x[1].item()}")
            raise error
    except ValueError as error:
        error.add_note("second")
        return error.__notes__
    return x


@program(*PATHS)
def caught_exception_is_one_of_many(x):
    """A number of classes: each is asked for its name, its text and its parts."""
    out, last = [], None
    for k, v in enumerate(x):
        try:
            if v < -2:
                raise KeyError("k", k)
            if v < 0:
                raise Coded(k, v)
            out.append("fine")
        except (KeyError, ValueError) as error:
            last = error
            out.append((type(error).__name__, str(error), repr(error), isinstance(error, Coded)))
            if isinstance(error, Coded):
                out.append(error.code)
    return out, None if last is None else last.args
