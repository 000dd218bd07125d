"""Programs that random drawing has found to fail once, made small."""

from __future__ import annotations

import collections
import contextlib

import torch

from tests.zoo.programs import f, i, program

GROUPS: collections.defaultdict[str, list[int]] = collections.defaultdict(list)
COUNTER: collections.Counter[str] = collections.Counter()
COUNTS: collections.defaultdict[str, collections.Counter[str]] = collections.defaultdict(
    collections.Counter
)
TABLE: dict[str, int] = {}
CALLS = ((f(2.0, 0.5), i(1)), (f(-1.0, 0.25), i(0)))
SEEN_OUTSIDE = ("rewritten", "captured", "unoptimised")  # a saved one refuses it


def held():
    """What is outside, in its order."""
    counts = {key: list(items.items()) for key, items in COUNTS.items()}
    return (
        {key: list(items) for key, items in GROUPS.items()},
        list(COUNTER.items()),
        counts,
        {**TABLE},
    )


def reset():
    """Nothing outside."""
    GROUPS.clear()
    COUNTER.clear()
    COUNTS.clear()
    TABLE.clear()


@program(*CALLS, watch=held, reset=reset, stages=SEEN_OUTSIDE)
def list_of_the_body_grows_after_a_raise(x, y):
    """Where `int` may raise, the list that the body has just made is still empty."""
    try:
        GROUPS["three"].append(int(x.sum()))
        GROUPS["three"].append(int(x[5]))
    except IndexError:
        return x
    return x + 1


@program(*CALLS)
def name_of_a_list_that_grows_in_the_body(x, y):
    """A handler is given the list as it was where the body has raised."""
    found = [9]
    try:
        found = []
        found.append(1 // y.item())
        found.append(2 // (y.item() - 1))
    except ZeroDivisionError:
        found.append(7)
    return found


@program(*CALLS, watch=held, reset=reset, stages=SEEN_OUTSIDE)
def branch_in_a_body_leaves_what_nothing_wants(x, y):
    """`found` is wanted where the body starts, but not where it ends."""
    found = []
    try:
        total = len(found) + int(x.sum())
        if y:
            pass
        else:
            found = [r for _, r in enumerate([r for r in [y, y + 1] if r > 0])]
    finally:
        found = 3
        GROUPS["end"].append(found)
    return total, found


@program(*CALLS)
def branch_in_a_handler_leaves_what_nothing_wants(x, y):
    """The same for the end of a handler, and of a `with`."""
    found = [x]
    try:
        total = len(found) // y.item()
        with torch.no_grad():
            if y > 2:
                found = [r for r in x if r > 0]
    except ZeroDivisionError:
        total = len(found) + 5
        if x.sum() > 0:
            found = [r for r in x if r > 0]
    return total


@program(*CALLS, watch=held, reset=reset, stages=SEEN_OUTSIDE)
def place_of_a_counted_key(x, y):
    """Which key of the Counter comes first depends on the path."""
    key = "one" if y else "two"
    COUNTER[key] += 1
    COUNTER["one"] += 1
    return x


@program(*CALLS, watch=held, reset=reset, stages=SEEN_OUTSIDE)
def last_counted_key_on_some_paths(x, y):
    """A key that may be absent can be counted where it is the last one."""
    COUNTER["two"] += 1
    if y:
        COUNTER["one"] += 1
    COUNTER["one"] += 1
    return x


@program(*CALLS, watch=held, reset=reset, stages=SEEN_OUTSIDE)
def counters_made_on_many_paths(x, y):
    """A Counter that one of two paths has made is joined as what it is, and not one more each time.

    Once, every iteration made the number of Counters that there may be larger.
    """
    for step in range(6):
        if x[0] > step - 3:
            COUNTS["one"]["a"] += 1
    for step in range(int(y) + 2):
        if x[0] > step:
            COUNTS["two"]["b"] += 1
    return x


@program(*CALLS, watch=held, reset=reset, stages=SEEN_OUTSIDE, refused="ST204")
def captured_key_of_a_defaultdict_with_an_unsure_key(x, y):
    """The user's `except` must not catch an error of a read that cannot be captured."""
    name = "two"
    if y:
        GROUPS["one"].append(1)
    try:
        x[y + 1]
    except IndexError as error:
        name = type(error).__name__
    try:
        return len(GROUPS[name.lower()])
    except Exception:  # noqa: BLE001  # as users write it
        return 7


@program(*CALLS, (f(2.0, 0.5), i(5)), watch=held, reset=reset, stages=SEEN_OUTSIDE)
def captured_key_of_a_dict_with_an_unsure_key(x, y):
    """A key that only a run knows, of a dict with a key that only some paths have set."""
    name = "two"
    if y:
        TABLE["one"] = 5
    try:
        x[y]
    except IndexError:
        name = "one"
    try:
        return TABLE[name.upper().lower()], name
    except KeyError:
        return name


@program((i(0),), (i(1),), (i(3),), (i(4),), (i(6),))
def numbers_of_negations(y):
    """`not` and `and` of what a branch computes, made numbers of."""
    n = int(y)
    if y > 5:
        return 0
    first = n == 4
    second = n == 1 if not first else first
    third = n == 3 if not second else second
    return int(not first) + int(not second) + int(not third) + int(first and third)


def _text_of(divide, n):
    try:
        return divide(n)
    except ZeroDivisionError as error:
        return str(error)


@program((i(2),), (i(0),))
def known_zero_divides(y):
    """A number from data by a zero that is known: Python's own error, with its text."""
    n, v = int(y), float(y)
    whole = [_text_of(lambda r: r % 0, n), _text_of(lambda r: r // 0, n), _text_of(_halves, n)]
    return whole, _text_of(lambda r: r / 0, v), _text_of(lambda r: r % 0, v)


def _halves(number):
    return divmod(number, 0)


@program((f(1.0),), (f(-1.0),), may_raise=True, stages=("captured", "unoptimised", "saved"))
def free_variable_without_a_value(x):
    """A nested function reads a name that its surroundings have not bound."""
    if x > 0:
        number = 3

    def inner():
        assert number, "zero"
        return number

    return inner()


class Registers(torch.nn.Module):
    """A module that may get a buffer."""


MODULE = Registers()


def registered():
    """The names of its buffers."""
    return list(MODULE._buffers)


@program(
    *CALLS, watch=registered, reset=lambda: MODULE._buffers.pop("extra", None), stages=SEEN_OUTSIDE
)
def buffer_that_some_paths_register(x, y):
    """`hasattr` of a buffer that only some paths have registered."""
    if y:
        MODULE.register_buffer("extra", x, persistent=False)
    has, held = hasattr(MODULE, "extra"), getattr(MODULE, "extra", x + 1)
    MODULE.register_buffer("extra", x * 2, persistent=False)
    return has, held, MODULE.extra


class Holder:
    """What has an attribute, or not."""


HOLDER = Holder()


@program(
    *CALLS, CALLS[0], watch=lambda: dict(vars(HOLDER)), reset=lambda: vars(HOLDER).clear(),
    stages=SEEN_OUTSIDE,
)  # fmt: skip
def attribute_deleted_where_it_is(x, y):
    """Whether `del` finds the attribute differs from call to call."""
    try:
        del HOLDER.high
    except AttributeError:
        HOLDER.high = x.size(0)
    return x


@contextlib.contextmanager
def busy():
    """Counted while it is open."""
    COUNTER["open"] += 1
    TABLE["open"] = TABLE.get("open", 0) + 1
    try:
        yield
    finally:
        COUNTER["open"] -= 1
        TABLE["open"] -= 1


@program(*CALLS, watch=held, reset=reset, stages=SEEN_OUTSIDE)
def state_put_back_before_a_handler(x, y):
    """The handler finds what the `finally` of the body has put back."""
    TABLE["open"] = 0
    try:
        with busy():
            if y > 0:
                raise ValueError
    except ValueError:
        return x + TABLE["open"]
    return x - TABLE["open"]


@program(*CALLS, may_raise=True)
def raise_of_the_one_alternative_left(x, y):
    """Inside the branch the name is one value, after it the other one."""
    name = "one" if y else "two"
    if name != "two":
        raise ValueError(name)
    raise KeyError(name)


@program(*CALLS)
def slices_of_an_empty_list(x, y):
    """Whatever the bounds are, nothing is in it."""
    rows = []
    taken = rows[: int(y)]
    for k, row in enumerate(taken):
        x = x + row * k
    again = [] * int(y)
    for row in again:
        x = x + row
    again.append(x)
    try:
        x = rows[: int(y)][int(y)]
    except IndexError as error:
        return taken, again, str(error)
    return x


@program((f(2.0, 0.5), i(1)), (f(2.0, 0.5), i(0)), (f(-2.0, 0.5), i(0)))
def one_of_several_dicts_that_may_lack_keys(x, y):
    """What counts, lists or copies it sees the keys that are there."""
    table = {key: 1 for key in "abc" if y > 0} if x.sum() > 0 else {"d": 2}
    other = {"a": 0}
    other.update(table)
    return len(table), "a" in table, list(table), sorted(table.items()), dict(table), other


@program((f(2.0, 0.5), i(1)), (f(2.0, 0.5), i(0)), (f(-2.0, 0.5), i(0)))
def one_of_several_dicts_unpacked(x, y):
    """`**` in a display, with keys that some paths have set."""
    table = {"a": 1} if x.sum() > 0 else {"b": 2}
    if y:
        table["c"] = 3
    return {"a": 0, **table, "z": 4}, dict(table, z=2)


@program((f(2.0, 0.5), i(1)), (f(2.0, 0.5), i(0)), may_raise=True)
def magnitude_of_what_may_be_none(x, y):
    """`abs` of one of two values."""
    number = None if y > 0 else -3
    return abs(number)


@program((f(2.0, 0.5), i(1)), (f(2.0, 0.5, 1.0), i(0)), (f(2.0), i(0)), stages=SEEN_OUTSIDE)
def mask_of_another_size_in_a_try(x, y):
    """The sizes that fit are not those of the first call."""
    try:
        return x[torch.zeros(2) < y]
    except IndexError:
        return x + 1


@program(*CALLS)
def body_of_a_with_that_always_raises(x, y):
    """Leaving the `with` comes after the raise in the program, but no run gets there."""
    value = x * 0.5
    try:
        with torch.no_grad():
            value = x
            if y > 0:
                raise KeyError
            else:
                raise ValueError
    except (KeyError, ValueError):
        pass
    return value
