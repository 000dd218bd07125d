"""f-strings and print: text that is made when the program runs."""

import collections
import dataclasses
import functools
import io
import types
import typing

import pytest
import torch

import stator
from stator import InputSpec
from stator.errors import UnsupportedCall
from tests.capture.oracle import check, refusal

CALLS = ((torch.tensor(1.5),), (torch.tensor(-20.25),))
Pair = collections.namedtuple("Pair", "a b")


@dataclasses.dataclass
class Point:
    x: object


class Named:
    def __init__(self, x):
        self.x = x

    def __str__(self):
        return f"named {self.x}"


@pytest.mark.parametrize(
    "text",
    [
        lambda x, n: f"{x}", lambda x, n: f"{n}", lambda x, n: f"{n:.3f}", lambda x, n: f"{n:>12}",
        lambda x, n: f"{n!r}", lambda x, n: f"{n:+.1e}|{x.item():08.3f}", lambda x, n: str(n),
        lambda x, n: repr(x), lambda x, n: f"{n:{8}.{2}f}", lambda x, n: f"{n=}",
        lambda x, n: f"{[n, 1]}", lambda x, n: f"{(n,)}", lambda x, n: f"{'a'!r:>5}{n}",
        lambda x, n: f"{n > 0}", lambda x, n: f"{int(n)}", lambda x, n: f"{x.dtype} {x.dim()}",
        lambda x, n: format(n, ".2f"), lambda x, n: f"{x:.2f}", lambda x, n: f"{{}}{n}",
    ],
)  # fmt: skip
def test_text_is_that_of_the_run(text):
    check(lambda x: text(x, x.item()), *CALLS)


def test_text_made_in_a_branch_leaves_it():
    check(lambda x: f"{x.item() if x > 0 else 'minus'}", *CALLS)


def test_prints_come_in_order_at_every_run():
    def f(x):
        print("first", x, sep=": ")
        if x.sum() > 0:
            print("positive", end="!\n")
        else:
            print("negative", x.item())
        while x.sum() > 0:
            x = x - 1
            print(f"step {x.item():.1f}")
        print()
        print("last", 1, [x.item()], (2,))
        return x

    check(f, *CALLS)


def test_an_error_message_is_made_by_the_run():
    def f(x):
        if x.sum() > 0:
            raise ValueError(f"got {x.item():.2f}")
        return x

    check(f, *CALLS)


def test_text_grows_with_augmented_assignment():
    def f(x):
        text = "a"
        text += f"{x.item()}"
        return text

    check(f, *CALLS)


def test_each_run_prints_to_the_file():
    file = io.StringIO()

    def f(x):
        if x.sum() > 0:
            print("sum", x.sum().item(), sep="=", end=";", file=file, flush=True)
        print(file=file)
        return x

    static = stator.to_static(f)
    for value in (1.0, -1.0, 2.0):
        static(torch.tensor(value))
    assert file.getvalue() == "sum=1.0;\n\nsum=2.0;\n"


@pytest.mark.parametrize("options", [{"sep": 3}, {"end": 3}, {"file": 5}])
def test_what_print_does_not_take_raises_as_in_python(options):
    def f(x):
        try:
            print(x, **{"file": io.StringIO(), **options})
        except (TypeError, AttributeError) as error:
            return str(error)

    check(f, *CALLS)


def test_the_text_of_a_shape_is_that_of_a_size():
    calls = ((torch.ones(2),), (torch.ones(3),))
    check(lambda x: f"{x.shape} {x.size()!r}", *calls, spec=[InputSpec([None])])


def test_the_text_of_a_named_tuple_names_its_fields():
    check(lambda x: f"{Pair(x.item(), 1)}", *CALLS)


@pytest.mark.parametrize("make", [Point, Named])
def test_the_text_of_an_object_with_captured_values_is_that_of_the_run(make):
    check(lambda x: f"{make(x.item())}", *CALLS)


class Formatted:
    def __init__(self, x):
        self.x = x

    def __format__(self, spec):
        return f"{spec}: {self.x:{spec or '.2f'}}"

    def __repr__(self):
        return "Formatted " + repr(self.x)


@dataclasses.dataclass
class Partly:
    x: object
    hidden: object = dataclasses.field(default=3, repr=False)


class Labelled(typing.NamedTuple):
    a: object

    def __str__(self):
        return f"<{self.a}>"


class Table(dict):
    pass


HOLDERS = {
    "dataclass": lambda v, k: f"{Partly(v, k)} {[Partly(k)]}",
    "named tuple": lambda v, k: str(Labelled(v)) + repr(Labelled(k)),
    "own format": lambda v, k: (
        f"{Formatted(v)} {Formatted(v):.1f} {Formatted(k)!r} {[Formatted(v)]}"
    ),
    "percent": lambda v, k: "%s %r" % (Partly(v), Formatted(k)),  # noqa: UP031
    "deque": lambda v, k: f"{collections.deque([v])} {collections.deque([k], 3)}",
    "exception": lambda v, k: str(ValueError(v)) + str(KeyError(f"{k}")) + repr(IndexError(k)),
    "exceptions": lambda v, k: str(ValueError(v, k)),
    "range": lambda v, k: f"{range(k)} {range(1, k, 2)}",
    "slice": lambda v, k: str(slice(k, None)),
    "values": lambda v, k: str({"a": v}.values()) + str({"a": k}.items()),
    "dict of its own": lambda v, k: str(Table(a=v)),
}


@pytest.mark.parametrize("text", HOLDERS.values(), ids=HOLDERS)
def test_the_text_of_what_holds_captured_values_is_that_of_the_run(text):
    check(lambda x: text(x.item(), int(x.item())), *CALLS)


@pytest.mark.parametrize(
    "text",
    [
        lambda v: str(collections.OrderedDict(a=v)),
        lambda v: repr(types.SimpleNamespace(a=[v])),
        lambda v: str({"a": slice(types.SimpleNamespace(a=v))}),
        lambda v: f"{functools.partial(max, v)}",
    ],
)
def test_a_text_that_python_would_make_of_captured_values_is_right_or_refused(text):
    try:
        check(lambda x: text(x.item()), *CALLS)
    except UnsupportedCall as error:
        assert "with captured values in it is not supported" in str(error)


def test_the_words_of_what_is_refused():
    refused = refusal(UnsupportedCall, lambda x: str(OSError(x.item())), torch.ones(1))
    assert (
        refused.problem
        == "the string form of an OSError with captured values in it is not supported"
    )
    refused = refusal(UnsupportedCall, lambda x: str(range(0, 9, int(x))), torch.ones(1))
    assert (
        refused.problem == "the string form of a range with a data-dependent step is not supported"
    )


def test_percent_formatting_is_that_of_the_run_or_refused():
    try:
        check(lambda x: "%s" % x.item(), *CALLS)  # noqa: UP031
    except UnsupportedCall:
        return


@pytest.mark.parametrize("join", [lambda s: "a" + s, lambda s: s + "a"])
def test_captured_text_is_added_to_text(join):
    check(lambda x: join(str(x.item())), *CALLS)


def test_captured_texts_are_joined_or_refused_by_stator():
    try:
        check(lambda x: "-".join([str(x.item())]), *CALLS)
    except UnsupportedCall:
        return


@pytest.mark.parametrize("use", [lambda s: s.expandtabs(), lambda s: s.encode()])
def test_other_uses_of_captured_text_are_refused_by_stator(use):
    refusal(UnsupportedCall, lambda x: use(str(x.item())), torch.tensor(1.5))
