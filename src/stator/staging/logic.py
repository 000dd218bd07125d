"""and_, or_, not_, compare: Python's value semantics, recorded where an operand is captured.

test_and, test_or, test_chain: the same where only the truth counts. They give a bool or a
symbolic one, so that the program has no union of the operands.
"""

from __future__ import annotations

import collections
import functools
import math
import operator
from collections.abc import Callable, Iterator
from typing import Any

import torch

from stator.capture.branches import capture_if
from stator.capture.conditions import Condition, choose, negated, refuse_if
from stator.capture.conversions import to_int
from stator.capture.inputs import note_distinct
from stator.capture.numbers import both, either
from stator.containers import definitions
from stator.containers.dict_calls import refuse_open_views
from stator.containers.generators import StagedGenerator
from stator.containers.iteration import CapturedRange
from stator.containers.lists import is_captured, is_tuple, refuse_identity
from stator.containers.runtime_tables import entries, has, is_captured_item
from stator.containers.set_operators import are_sets_of_a_run, is_within
from stator.errors import UnsupportedCall
from stator.library.array_operands import beside_tensor
from stator.library.captured_values import hold_numbers
from stator.library.dataclass_calls import compared_fields
from stator.library.known_arrays import NOT_KNOWN, compute_known
from stator.library.number_calls import complex_arithmetic, number_op, plain_number
from stator.library.outside_iterators import iterated
from stator.library.text import compare_texts
from stator.library.text_methods import has_part
from stator.library.user_keys import check_keys
from stator.library.user_methods import user_method
from stator.staging.operator_methods import NOT_WRITTEN, written_comparison
from stator.staging.truth import truth
from stator.state.callers_arrays import used_array
from stator.state.library_objects import watch_object
from stator.state.session import VIEWS, Session
from stator.torch_private.fake import FakeTensor
from stator.values import symbolic
from stator.values.annotations import Code, Staged
from stator.values.arrays import CapturedArray, KnownArray
from stator.values.freezing import refuse_copies
from stator.values.pooled import PooledObject, Reference, entry_of, pool_of
from stator.values.staged import (
    StagedContainer,
    StagedCounter,
    StagedList,
    StagedOrderedDict,
    StagedSet,
    is_table,
)
from stator.values.symbolic import CapturedComplex, CapturedText, CaughtType, Number, Undefined
from stator.values.union import Symbolic, Union, over_unions

EQUALITY: dict[str, Callable[[Any, Any], Any]] = {"==": operator.eq, "!=": operator.ne}
ORDER: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
NUMBER_SIGNS = {"==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}
SEQUENCES = (tuple, list)
SETS = (set, frozenset)
COUNTERS = (StagedCounter, collections.Counter)


def and_(session: Session, first: object, *rest: Code) -> Staged:
    """`first and ...`: the first false value, or the last one."""
    return _until(session, first, rest, stop_at=False)


def or_(session: Session, first: object, *rest: Code) -> Staged:
    """`first or ...`: the first true value, or the last one."""
    return _until(session, first, rest, stop_at=True)


def _until(session: Session, value: object, rest: tuple[Code, ...], *, stop_at: bool) -> Staged:
    if not rest:
        return value
    condition = truth(session, value)
    if isinstance(condition, bool):
        if condition is stop_at:
            return value
        return _until(session, rest[0](), rest[1:], stop_at=stop_at)

    def go_on() -> Staged:
        return _until(session, rest[0](), rest[1:], stop_at=stop_at)

    def stop() -> Staged:
        return stop_at if isinstance(value, bool | torch.SymBool) else value

    then, orelse = (stop, go_on) if stop_at else (go_on, stop)
    return capture_if(session.recorder, condition, then, orelse)


def test_and(session: Session, first: object, *rest: Code) -> Condition:
    """The truth of `first and ...`; an operand is evaluated only if those before it are true."""
    return _truth_until(session, first, rest, stop_at=False)


def test_or(session: Session, first: object, *rest: Code) -> Condition:
    """The truth of `first or ...`; an operand is evaluated only if those before it are false."""
    return _truth_until(session, first, rest, stop_at=True)


def _truth_until(
    session: Session, value: object, rest: tuple[Code, ...], *, stop_at: bool
) -> Condition:
    condition = truth(session, value)
    if not rest or condition is stop_at:
        return condition

    def go_on() -> Condition:
        return _truth_until(session, rest[0](), rest[1:], stop_at=stop_at)

    def stop() -> Condition:
        return stop_at

    then, orelse = (stop, go_on) if stop_at else (go_on, stop)
    return choose(session.recorder, condition, then, orelse)


def none_of(session: Session, *flags: object) -> Condition:
    """True if no flag of a `break`, `continue` or `return` is set."""
    clear: Condition = True
    for flag in flags:
        clear = both(clear, negated(truth(session, flag)))
    return clear


def not_(session: Session, value: object) -> Staged:
    """`not value`."""
    return negated(truth(session, value))


def compare(session: Session, left: object, sign: str, right: object) -> Staged:
    """`left SIGN right`, for every comparison operator."""
    if sign in ("is", "is not"):
        same = _is(session, left, right)
        return not_(session, same) if sign == "is not" else same
    left, right = used_array(session, left, right), used_array(session, right, left)
    if sign in ("in", "not in"):
        found = _contains(session, right, left)
        return not_(session, found) if sign == "not in" else found
    return _compare(session, left, sign, right)


@over_unions("left", "right")
def _compare(session: Session, left: object, sign: str, right: object) -> Staged:
    if isinstance(left, CaughtType) or isinstance(right, CaughtType):
        return _is_class(session, left, sign, right)
    negated_truth = functools.partial(not_, session)
    written = written_comparison(session, left, sign, right, negated_truth)
    if written is not NOT_WRITTEN:
        return written
    if isinstance(left, VIEWS) or isinstance(right, VIEWS):
        refuse_open_views(session, left, right)
    left, right = session.seen(left), session.seen(right)
    if isinstance(left, KnownArray) or isinstance(right, KnownArray):
        done = compute_known(session, {**ORDER, **EQUALITY}[sign], left, right)
        if done is not NOT_KNOWN:
            return done
    left, right = beside_tensor(session, left, right)
    refuse_identity(left)
    refuse_identity(right)
    if any(isinstance(one, Number | CapturedText | CapturedComplex) for one in (left, right)):
        return _compare_captured(session, plain_number(left), sign, plain_number(right))
    if sign in ORDER and _is_symbolic_sequence(left, right):
        return _sequences_ordered(session, left, sign, right)
    if sign in ORDER and are_sets_of_a_run(left, right):
        return _sets_ordered(session, left, sign, right)
    fields = compared_fields(left, right, sign)
    if fields is not None:
        for one in (left, right):
            watch_object(session, one, set())
        return compare(session, fields[0], sign, fields[1])
    if sign in ORDER:
        return ORDER[sign](left, right)
    return _equal(session, left, right, sign)


def _compare_captured(session: Session, left: object, sign: str, right: object) -> Staged:
    """A comparison with a captured number or text."""
    if isinstance(left, CapturedText) or isinstance(right, CapturedText):
        return compare_texts(session, left, sign, right)
    left, right = _as_numbers(session, left), _as_numbers(session, right)
    if isinstance(left, CapturedComplex) or isinstance(right, CapturedComplex):
        return complex_arithmetic(session, left, sign, right)
    if any(isinstance(one, float) and math.isnan(one) for one in (left, right)):
        return sign == "!="
    if _is_int_and_float(left, right) or _is_int_and_float(right, left):
        return number_op(session, NUMBER_SIGNS[sign], "bool", left, right)
    return ORDER[sign](left, right) if sign in ORDER else _equal(session, left, right, sign)


def _is_int_and_float(one: object, other: object) -> bool:
    """Python compares them exactly; torch would make the int a float."""
    return isinstance(one, torch.SymInt) and isinstance(other, float | torch.SymFloat)


def _as_numbers(session: Session, value: object) -> Staged:
    """A truth value as the number it is: 0 or 1."""
    if isinstance(value, torch.SymBool):
        return to_int(session.recorder, value)
    return int(value) if isinstance(value, bool) else value


def compare_chain(session: Session, left: object, *links: tuple[str, Code]) -> Staged:
    """`a < b < c`: each operand once, and only as far as the comparisons hold."""
    (sign, operand), *rest = links
    right = operand()
    result = compare(session, left, sign, right)
    if not rest:
        return result
    return and_(session, result, lambda: compare_chain(session, right, *rest))


def test_chain(session: Session, left: object, *links: tuple[str, Code]) -> Condition:
    """The truth of `a < b < c`."""
    (sign, operand), *rest = links
    right = operand()
    result = compare(session, left, sign, right)
    if not rest:
        return truth(session, result)
    return test_and(session, result, lambda: test_chain(session, right, *rest))


@over_unions("left", "right", undefined=True)
def _is(session: Session, left: object, right: object) -> Staged:
    if isinstance(left, Undefined):
        raise left.error()
    if isinstance(left, torch.SymBool) and isinstance(right, bool):
        return left if right else torch.sym_not(left)
    if isinstance(right, torch.SymBool) and isinstance(left, bool):
        return _is(session, right, left)
    if isinstance(left, torch.SymBool) and isinstance(right, torch.SymBool):
        return _compare(session, left, "==", right)  # there are two bools only
    if isinstance(left, CaughtType) or isinstance(right, CaughtType):
        return _is_class(session, left, "==", right)
    left, right = session.stand_ins.original(left), session.stand_ins.original(right)
    if left is right:
        return True
    symbolic.refuse_caught(left, right)
    if isinstance(left, Reference) and isinstance(right, Reference):
        return pool_of(left) is pool_of(right) and entry_of(left) == entry_of(right)
    if isinstance(left, StagedContainer) and isinstance(right, StagedContainer):
        refuse_copies(left, right)
    if _cannot_tell(session, left, right):
        raise UnsupportedCall("`is` compares values that may or may not be the same object",
                              fix="compare with `==`, or keep a flag")  # fmt: skip
    return False


def _is_class(session: Session, left: Staged, sign: str, right: Staged) -> Staged:
    """`type(error) is ValueError`, of an exception that only a run has."""
    caught, cls = (left, right) if isinstance(left, CaughtType) else (right, left)
    if not isinstance(cls, type):
        return sign == "!="
    return compare_texts(session, caught.error.class_name(), sign, cls.__name__)


def _cannot_tell(session: Session, left: object, right: object) -> bool:
    if isinstance(left, torch.Tensor) and isinstance(right, torch.Tensor):
        joined = session.recorder.joined
        note_distinct(session.recorder, left, right)
        return left in joined or right in joined or _may_be_given(session, left, right)
    if isinstance(left, tuple) and isinstance(right, tuple):
        joined = session.recorder.joined_tuples
        return (id(left) in joined or id(right) in joined) and len(left) == len(right)
    return isinstance(left, Number) and isinstance(right, Number | int | float)


def _may_be_given(session: Session, left: torch.Tensor, right: torch.Tensor) -> bool:
    """May an argument be the stored tensor that it is compared with?"""
    given, stored = (left, right) if isinstance(left, FakeTensor) else (right, left)
    is_stored = not isinstance(stored, FakeTensor)
    return is_stored and session.recorder.find(given) in session.recorder.input_facts


def _equal(session: Session, left: object, right: object, sign: str) -> Staged:
    """`==` and `!=`: sequences are compared item by item, as captured items cannot be asked."""
    if isinstance(left, CapturedRange) or isinstance(right, CapturedRange):
        both_are = all(isinstance(one, CapturedRange | range) for one in (left, right))
        same = both_are and session.interpreter.run(definitions.are_equal, left, right)
        return same if sign == "==" else not_(session, same)
    if _is_symbolic_sequence(left, right):
        same = _sequences_equal(session, left, right)
        return same if sign == "==" else not_(session, same)
    if isinstance(left, SETS) and isinstance(right, SETS) and (is_table(left) or is_table(right)):
        same = _sets_equal(session, left, right)
        return same if sign == "==" else not_(session, same)
    if isinstance(left, dict) and isinstance(right, dict) and (is_table(left) or is_table(right)):
        if isinstance(left, StagedOrderedDict) and isinstance(right, StagedOrderedDict):
            first, second = (entries(session, one) for one in (left, right))
            return compare(session, first, sign, second)  # in their order
        counters = isinstance(left, COUNTERS) and isinstance(right, COUNTERS)
        compared = definitions.same_counts if counters else definitions.same_pairs
        same = truth(session, session.interpreter.run(compared, left, right))
        return same if sign == "==" else not_(session, same)
    if isinstance(left, dict) and isinstance(right, dict) and _has_captured_values(left, right):
        same = _dicts_equal(session, left, right)
        return same if sign == "==" else not_(session, same)
    if isinstance(left, PooledObject) and isinstance(right, PooledObject):  # by identity
        same = _is(session, left, right)
        return same if sign == "==" else not_(session, same)
    for one in (left, right):
        watch_object(session, one, set())
    return left == right if sign == "==" else left != right


def _has_captured_values(left: dict[object, object], right: dict[object, object]) -> bool:
    return any(map(_holds_captured, (*left.values(), *right.values())))


def _sets_equal(session: Session, left: Staged, right: Staged) -> Staged:
    call = session.interpreter.call
    same_length = compare(session, call(len, left), "==", call(len, right))
    if not isinstance(left, StagedSet):
        left, right = right, left
    items = entries(session, left)
    return test_and(
        session, same_length, lambda: session.interpreter.run(definitions.are_in, items, right)
    )


def _sets_ordered(session: Session, left: Staged, sign: str, right: Staged) -> Staged:
    """`<=` and the like of two sets: is one within the other?"""
    if sign in (">", ">="):
        left, right, sign = right, left, {">": "<", ">=": "<="}[sign]
    call, within = session.interpreter.call, is_within(session, left, right)
    if sign == "<=":
        return within
    return both(within, compare(session, call(len, left), "!=", call(len, right)))


def _dicts_equal(
    session: Session, left: dict[object, object], right: dict[object, object]
) -> Staged:
    if left.keys() != right.keys():
        return False
    return _sequences_equal(session, list(left.values()), [right[key] for key in left])


def _is_symbolic_sequence(left: object, right: object) -> bool:
    return (
        isinstance(left, SEQUENCES)
        and isinstance(right, SEQUENCES)
        and (_holds_captured(left) or _holds_captured(right))
    )


def _holds_captured(item: object) -> bool:
    """Is `item` captured, or a sequence or a dict with something captured in it?"""
    if isinstance(item, SEQUENCES) and not is_captured(item):
        return any(map(_holds_captured, item))
    if isinstance(item, dict) and not is_table(item):
        return any(map(_holds_captured, item.values()))
    return _symbolic(item) or isinstance(item, PooledObject)


def _sequences_equal(session: Session, left: Staged, right: Staged) -> Staged:
    if is_tuple(left) != is_tuple(right):
        return False
    if is_captured(left) or is_captured(right):
        return truth(session, session.interpreter.run(definitions.are_equal, left, right))
    if len(left) != len(right):
        return False
    pairs = list(zip(left, right, strict=True))
    if not pairs:
        return True
    tests = [_item_test(session, a, b) for a, b in pairs]
    return and_(session, tests[0](), *tests[1:])


def _sequences_ordered(session: Session, left: object, sign: str, right: object) -> Staged:
    """`<` and the like of two tuples or two lists: the first items that differ decide."""
    if is_tuple(left) != is_tuple(right):
        return ORDER[sign](left, right)  # a TypeError, as in Python
    if sign in (">", ">="):
        left, right = right, left
    or_equal = sign in ("<=", ">=")
    if hold_numbers(left, right, or_equal=or_equal):
        return _ordered_numbers(session, left, right, or_equal=or_equal)
    definition = definitions.is_at_most if or_equal else definitions.is_less
    return session.interpreter.run(definition, left, right)


def _ordered_numbers(session: Session, left: Staged, right: Staged, *, or_equal: bool) -> Staged:
    """`left < right` or `left <= right` as one condition: numbers need no branch."""
    result: Staged = len(left) <= len(right) if or_equal else len(left) < len(right)
    for one, other in list(zip(left, right))[::-1]:  # noqa: B905 (the shorter one decides)
        equal = False if result is False else both(same(session, one, other), result)
        result = either(compare(session, one, "<", other), equal)
    return result


def _item_test(session: Session, left: object, right: object) -> Code:
    return lambda: same(session, left, right)


def _are_of_one_pool(left: Staged, right: Staged) -> bool:
    are_references = isinstance(left, Reference) and isinstance(right, Reference)
    return are_references and pool_of(left) is pool_of(right)


def same(session: Session, left: Staged, right: Staged) -> Staged:
    """`left is right or left == right`: how Python looks for an item."""
    if left is right:
        return True
    if _are_of_one_pool(left, right):
        return or_(session, entry_of(left) == entry_of(right),
                   lambda: compare(session, left, "==", right))  # fmt: skip
    if isinstance(left, torch.SymFloat) and isinstance(right, torch.SymFloat):
        refuse_if(session.recorder,
            both(number_op(session, "isnan", "bool", left),
                 number_op(session, "isnan", "bool", right)),
            "a list is searched for nan: only Python knows whether it is the same object",
        )  # fmt: skip
    return truth(session, compare(session, left, "==", right))


@over_unions("container", "item")
def _contains(session: Session, container: Staged, item: Staged) -> Staged:
    """`item in container`."""
    method = user_method(container, "__contains__")
    if method is not None:
        return truth(session, session.interpreter.call_method(method, container, item))
    container = session.seen(iterated(session, container))
    refuse_identity(container)
    if isinstance(container, torch.Tensor | CapturedArray):
        return truth(session, (getattr(container, "tensor", container) == item).any())
    if isinstance(container, CapturedText) or (
        isinstance(container, str) and isinstance(item, Symbolic)
    ):
        return has_part(session, container, item)
    if is_table(container) or (
        is_captured_item(item) and isinstance(container, StagedSet) and not isinstance(item, Number)
    ):
        return has(session, container, item)
    if isinstance(container, dict) and isinstance(container.get(_key(item)), Union):
        return _is_defined(session, container[item])
    if _is_searched(container, item):
        tests = [_item_test(session, item, one) for one in container]
        return or_(session, tests[0](), *tests[1:]) if tests else False
    if (
        is_captured(container)
        or isinstance(container, CapturedRange)
        or isinstance(item, Number | CapturedText)
        or isinstance(container, Iterator | StagedGenerator)
    ):
        return session.interpreter.run(definitions.contains, container, item)
    if user_method(container, "__iter__") is not None:
        return session.interpreter.run(definitions.contains, container, item)
    check_keys(session, item)
    return item in container


def _is_searched(container: object, item: object) -> bool:
    """Is `container` a sequence of known length in which a captured value has to be compared?"""
    if isinstance(container, range | set | frozenset | dict):
        captured = isinstance(item, tuple | StagedList) and is_captured_item(item)
        return captured or isinstance(item, Number | Union)
    if not isinstance(container, tuple | list) or is_captured(container):
        return False
    return _symbolic(item) or any(_symbolic(one) for one in container)


def _key(item: object) -> Staged:
    hashable = isinstance(item, str | int | bool | float | tuple) and not is_captured_item(item)
    return item if hashable else None


def _is_defined(session: Session, value: Union) -> Staged:
    return session.recorder.apply_all(value, lambda one: not isinstance(one, Undefined))


def _symbolic(value: object) -> bool:
    if isinstance(value, StagedList) and not value.is_open:
        return any(map(_symbolic, list.__iter__(value)))
    return isinstance(value, Symbolic | StagedList)
