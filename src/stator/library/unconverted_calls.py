"""call_unconverted(): library code that runs as it is, on values that only a run has.

What it makes of them it would make of what the capture has in their place: a text with a name of
the capture's, an error about a class of Stator's, an answer where it catches a refusal. So all of
these are refused. Functions that only compute a number or a string are host calls, which each run
makes. A few modules of the standard library are plain Python: given such values, their functions
are converted like user code.
"""

from __future__ import annotations

import fnmatch
import html
import json
import math
import os
import pprint
import re
import reprlib
import shlex
import statistics
import string
import textwrap
import types
import urllib.parse
from collections.abc import Mapping
from typing import Any, get_args

import torch

from stator.containers import lists
from stator.errors import StatorError, UnsupportedCall
from stator.library.python_text import refusing_texts
from stator.state.host_calls import record_host_call
from stator.state.session import Session
from stator.values.annotations import Args, Keywords, Staged
from stator.values.arrays import CapturedArray
from stator.values.attributes import own_dict
from stator.values.slotted import HEAP_TYPE
from stator.values.staged import is_table
from stator.values.symbolic import CapturedComplex, CapturedText, Number, StandIn
from stator.values.union import Union

PLAIN_PYTHON = frozenset(
    {"calendar", "colorsys", "fractions", "heapq", "numbers", "statistics", "string", "textwrap"}
)
PURE: dict[Any, type] = {  # what only computes, and the type of what it gives
    **dict.fromkeys((
        ascii, json.dumps, pprint.pformat, pprint.saferepr, reprlib.repr, re.sub, re.escape,
        textwrap.fill, textwrap.dedent, textwrap.indent, textwrap.shorten, string.capwords,
        html.escape, html.unescape, shlex.quote, urllib.parse.quote, os.path.join,
        os.path.basename, os.path.dirname,
    ), str),
    **dict.fromkeys((
        math.fsum, math.dist, math.ldexp, math.remainder, math.nextafter, math.ulp,
        statistics.fmean, statistics.stdev, statistics.pstdev, statistics.geometric_mean,
        statistics.correlation,
    ), float),
    hash: int, fnmatch.fnmatch: bool, fnmatch.fnmatchcase: bool,
}  # fmt: skip
PURE_METHODS: dict[type, dict[str, type]] = {
    json.JSONEncoder: {"encode": str}, re.Pattern: {"sub": str},
    string.Template: {"substitute": str, "safe_substitute": str},
}  # fmt: skip
PURE_FUNCTIONS = {
    *PURE, *(getattr(cls, name) for cls, names in PURE_METHODS.items() for name in names),
}  # fmt: skip
OF_CONTAINERS = (list, tuple, dict, set, frozenset, str, bytes, types.GeneratorType)
OPAQUE = (torch.Tensor, torch.nn.Module, types.ModuleType, type, StandIn, CapturedArray)
DEEPEST = 4


def is_pure(function: Staged, args: Args, kwargs: Keywords) -> bool:
    """Does it only compute a number or a string, of values that only a run has?"""
    if function is hash and not all(map(_has_hash_of_value, args)):
        return False
    return _result_of(function) is not None and any(
        holds_captured(arg, (torch.Tensor,)) for arg in (*args, *kwargs.values())
    )


def _has_hash_of_value(value: object) -> bool:
    """Does the hash depend on the value? That of an object or a tensor is of the object itself."""
    if isinstance(value, Union):
        return all(map(_has_hash_of_value, value.alternatives))
    if isinstance(value, tuple | frozenset):
        return all(map(_has_hash_of_value, value))
    plain = (bool, int, float, complex, str, bytes, type(None))
    return isinstance(value, (*plain, *get_args(Number), CapturedText, CapturedComplex))


def _result_of(function: Staged) -> type | None:
    if isinstance(function, types.FunctionType | types.BuiltinFunctionType) and function in PURE:
        return PURE[function]
    owner = type(getattr(function, "__self__", None))
    return PURE_METHODS.get(owner, {}).get(getattr(function, "__name__", ""))


def call_pure(session: Session, function: Staged, args: Args, kwargs: Keywords) -> Staged:
    """Each run calls it."""
    name = _name_of(function)
    session.decisions.add("call", "host call", name)
    return record_host_call(session, function, args, kwargs, name=name, result=_result_of(function))


def is_computed(function: object, args: Args, kwargs: Keywords) -> bool:
    """Is this a function of the standard library that is converted, given what it is given?"""
    is_plain = getattr(function, "__module__", None) in PLAIN_PYTHON
    if is_plain and isinstance(function, types.FunctionType) and function in PURE_FUNCTIONS:
        return False
    return is_plain and any(
        holds_captured(arg, (torch.Tensor,)) for arg in (*args, *kwargs.values())
    )


def holds_captured(value: Any, others: tuple[type, ...] = (), depth: int = DEEPEST) -> bool:
    """Is in `value` a number, a string or a list that only a run has, or one of `others`?"""
    if isinstance(value, (Number, CapturedText, CapturedComplex, Union, *others)):
        return True
    if lists.is_captured(value) or is_table(value):
        return True
    if depth == 0:
        return False
    if isinstance(value, dict):
        parts = [*dict.keys(value), *dict.values(value)]
    elif isinstance(value, list):
        parts = [*list.__iter__(value)]
    elif isinstance(value, tuple | set | frozenset):
        parts = [*value]
    else:
        parts = [*_fields_of(value).values()]
    return any(holds_captured(part, others, depth - 1) for part in parts)


def are_objects_of_run(items: Staged) -> bool:
    """Are there objects among `items` that only a run can compare, by what they hold?"""
    return isinstance(items, list | tuple) and any(
        _fields_of(one) and holds_captured(one, (torch.Tensor,)) for one in items
    )


def _fields_of(value: Any) -> Mapping[str, Any]:
    """The attributes of an object of a class that a `class` statement has made."""
    is_made = type(value).__flags__ & HEAP_TYPE and not isinstance(value, OPAQUE)
    return own_dict(value) if is_made else {}


def call_unconverted(
    session: Session, function: Staged, args: Args, kwargs: Keywords, owner: object
) -> Staged:
    """`function(*args, **kwargs)`, refused where it uses what only a run has."""
    if function is hash and args:
        _refuse_hash_of_identity(session, args[0])
    before = session.recorder.refused_questions
    with refusing_texts(lambda _: _refused(session, function)):
        try:
            result = function(*args, **kwargs)
        except StatorError:
            raise
        except Exception as error:
            given = (owner, *args, *kwargs.values())
            others = (torch.Tensor,) if "pickle" in str(error) else ()
            if isinstance(owner, OF_CONTAINERS) or not any(
                holds_captured(value, others) for value in given
            ):
                raise
            raise _refused(session, function) from error
    if session.recorder.refused_questions != before:  # it has caught a refusal, and gone on
        raise _refused(session, function)
    return result


def _refuse_hash_of_identity(session: Session, value: object) -> None:
    """An error for an object that each run makes again, if its hash is that of the object."""
    is_own = not session.provenance.is_external(value) or isinstance(value, torch.Tensor)
    if is_own and type(value).__hash__ in (object.__hash__, torch.Tensor.__hash__):
        raise UnsupportedCall(
            "`hash()` of an object or a tensor that the call creates is not known",
            fix="compare with `is`",
        )


def _name_of(function: Staged) -> str:
    name = getattr(function, "__qualname__", None) or type(function).__qualname__
    module = getattr(function, "__module__", None)
    return f"{module}.{name}" if module not in (None, "builtins") else name


def _refused(session: Session, function: Staged) -> UnsupportedCall:
    session.recorder.refused_questions += 1
    name = getattr(function, "__name__", type(function).__name__)
    return UnsupportedCall(f"library code, `{name}`, cannot use captured values",
                           fix="call it outside, on what the function returns")  # fmt: skip
