"""call_unconverted: library code on values that only a run has is right, or refused."""

from __future__ import annotations

import copy
import csv
import decimal
import io
import itertools
import json
import math
import operator
import pprint
import re
import statistics
import string
import textwrap
import traceback

import pytest
import torch

import stator
from stator.errors import UnsupportedCall
from tests.capture.oracle import check

CALLS = tuple((torch.tensor(values),) for values in ([2.0, 1.5], [1.0, -0.25], [3.0, 0.0]))


def numbers(x):
    return [int(x[0]), float(x[1]), 3]


def text(x):
    return f"{int(x[0])} and {float(x[1])}"


@pytest.mark.parametrize("function", [
    lambda x: pprint.pformat({"a": numbers(x)}),
    lambda x: json.dumps({"a": numbers(x), "b": text(x)}, sort_keys=True),
    lambda x: json.JSONEncoder().encode(numbers(x)),
    lambda x: textwrap.fill(text(x), 5),
    lambda x: string.Template("$a b").substitute(a=int(x[0])),
    lambda x: string.Formatter().format("{} {a}", int(x[0]), a=float(x[1])),
    lambda x: re.sub("a", "b", text(x)),
    lambda x: re.compile("and").sub(text(x), "this and that"),
    lambda x: ascii(int(x[0])),
    lambda x: math.fsum(numbers(x)),
    lambda x: statistics.median(numbers(x)),
    lambda x: statistics.fmean(numbers(x)),
    lambda x: copy.deepcopy({"a": numbers(x), "b": text(x)}),
])  # fmt: skip
def test_a_function_that_only_computes_is_right(function):
    check(function, *CALLS)


@pytest.mark.parametrize("function", [
    lambda x: (operator.neg(int(x[0])), operator.inv(int(x[0])), operator.pos(float(x[1]))),
    lambda x: (operator.not_(int(x[1])), operator.truth(float(x[1]))),
    lambda x: (operator.contains([1, 2], int(x[0])), operator.countOf(numbers(x), 3)),
    lambda x: (operator.index(x[0].long()), operator.indexOf(numbers(x), 3)),
    lambda x: operator.itemgetter(int(x[0]) - 1, 0)([5, 6, 7]),
    lambda x: operator.attrgetter("real")(int(x[0])),
    lambda x: operator.methodcaller("replace", "a", "b")(text(x)),
    lambda x: list(itertools.compress([1, 2, 3], [x[0] > 1, x[1] > 0, True])),
    lambda x: list(itertools.filterfalse(lambda v: v > 1, numbers(x))),
])  # fmt: skip
def test_a_function_of_operator_and_itertools_is_right(function):
    check(function, *CALLS)


@pytest.mark.parametrize("function", [
    lambda x: str(decimal.Decimal(int(x[0]))),
    lambda x: traceback.format_exception_only(ValueError(int(x[0]))),
    lambda x: csv.writer(io.StringIO()).writerow(numbers(x)),
    lambda x: json.loads(text(x)),
])  # fmt: skip
def test_what_would_see_the_values_themselves_is_refused(function):
    with pytest.raises(UnsupportedCall, match="cannot use captured values"):
        stator.to_static(function)(*CALLS[0])


def test_an_error_about_a_stand_in_is_not_caught_by_the_program():
    def lenient(x):
        try:
            return decimal.Decimal(int(x[0]))
        except TypeError:
            return None

    with pytest.raises(UnsupportedCall):
        stator.to_static(lenient)(*CALLS[0])
