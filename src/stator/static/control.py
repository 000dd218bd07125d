"""cond, case, switch_case, while_loop, Print, Assert: what a written program does by its data.

Under `program_guard` they are recorded; outside of it they run at once, as eager code does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from stator.capture.branches import capture_if
from stator.capture.loops import capture_while
from stator.english import with_article
from stator.errors import BranchMismatch, InputError, LoopStateChanged
from stator.frames import user_facing
from stator.program.ir import Arg
from stator.program.types import TextType
from stator.staging.truth import builtin_truth
from stator.static.builder import Builder
from stator.static.program import current_builder
from stator.torch_private.trees import pytree
from stator.values.symbolic import CapturedText, Number
from stator.values.union import Union

Code = Callable[[], Any]
ONE_FORM = "give the same dtype, rank and structure on every path"


@user_facing
def cond(pred: Any, true_fn: Code | None = None, false_fn: Code | None = None) -> Any:
    """Run `true_fn()` if `pred` is true, else `false_fn()`; both return the same structure."""
    then, orelse = true_fn or _nothing, false_fn or _nothing
    builder = current_builder()
    condition = bool(pred) if builder is None else builtin_truth(builder, pred)
    if isinstance(condition, bool):
        return then() if condition else orelse()
    assert builder is not None
    sides = _Sides()
    leaves = capture_if(builder, condition, sides.flat(then), sides.flat(orelse))
    return sides.whole(leaves)


class _Sides:
    """What the functions of a branch give, taken apart: they must be put together alike."""

    def __init__(self) -> None:
        self.forms: list[pytree.TreeSpec] = []

    def flat(self, function: Code) -> Code:
        """`function`, giving the parts of what it gives."""

        def run() -> tuple[Any, ...]:
            leaves, form = pytree.tree_flatten(function())
            self.forms.append(form)
            return tuple(leaves)

        return run

    def whole(self, leaves: Any) -> Any:
        """The value after the branch."""
        if any(form != self.forms[0] for form in self.forms):
            raise BranchMismatch("the branches return values of different structures", fix=ONE_FORM)
        if (forms := _mixed(leaves)) is not None:
            raise BranchMismatch(f"the branches return {forms}", fix=ONE_FORM)
        return pytree.tree_unflatten(leaves, self.forms[0])


@user_facing
def case(pred_fn_pairs: Sequence[tuple[Any, Code]], default: Code | None = None) -> Any:
    """Run the function of the first true `pred`; if none is, `default` or the last function."""
    pairs = list(pred_fn_pairs)
    if not pairs:
        raise InputError("`case` has no pairs", fix="give [(pred, function), ...]")
    if default is None:
        default = pairs.pop()[1]
    return _first_of(pairs, default)


def _first_of(pairs: list[tuple[Any, Code]], default: Code) -> Any:
    if not pairs:
        return default()
    (pred, function), *rest = pairs
    return cond(pred, function, lambda: _first_of(rest, default))


@user_facing
def switch_case(
    branch_index: Any,
    branch_fns: Mapping[int, Code] | Sequence[Code] | Sequence[tuple[int, Code]],
    default: Code | None = None,
) -> Any:
    """Run function number `branch_index`; if there is none, `default` or the last function."""
    functions = _numbered(branch_fns)
    if default is None:
        default = functions.pop(max(functions))
    pairs = [(branch_index == number, function) for number, function in functions.items()]
    return _first_of(pairs, default)


def _numbered(branch_fns: Any) -> dict[int, Code]:
    items = list(branch_fns.items()) if isinstance(branch_fns, Mapping) else list(branch_fns)
    if items and all(callable(item) for item in items):
        items = list(enumerate(items))
    functions: dict[int, Code] = {}
    for number, function in items:
        if type(number) is not int or number in functions:
            raise InputError(f"{number!r} is not a branch number, or is given twice",
                             fix="number the branches 0, 1, ...")  # fmt: skip
        functions[number] = function
    if not functions:
        raise InputError("`switch_case` has no branches", fix="give {number: function, ...}")
    return functions


class _LoopVariables:
    """The variables of a loop, by position."""

    def __init__(self, values: Sequence[Any]) -> None:
        self.values = tuple(values)
        self.names = tuple(f"loop_vars[{index}]" for index in range(len(self.values)))
        self.steps: Mapping[str, int] = {}  # nothing is known of the body

    def read(self) -> tuple[Any, ...]:
        """What the variables are now."""
        return self.values

    def write(self, values: tuple[Any, ...]) -> None:
        """Give them these values."""
        self.values = tuple(values)


@user_facing
def while_loop(
    cond: Callable[..., Any], body: Callable[..., Any], loop_vars: Sequence[Any]
) -> list[Any]:
    """Run `body(*loop_vars)` while `cond(*loop_vars)` is true; returns the last `loop_vars`."""
    if not isinstance(loop_vars, list | tuple) or not loop_vars:
        raise InputError("`while_loop` needs a list of loop variables",
                         fix="give the tensors that the body changes")  # fmt: skip
    leaves, form = pytree.tree_flatten(list(loop_vars))
    builder, variables = current_builder(), _LoopVariables(leaves)

    def again() -> Any:
        answer = cond(*pytree.tree_unflatten(variables.values, form))
        return bool(answer) if builder is None else builtin_truth(builder, answer)

    def one_iteration() -> Any:
        given = body(*pytree.tree_unflatten(variables.values, form))
        variables.write(_next(given, form))
        return again()

    condition = again()
    while condition is True:
        condition = one_iteration()
    if condition is not False:
        assert builder is not None
        capture_while(builder, variables, condition, one_iteration)
    if (forms := _mixed(variables.values)) is not None:
        raise BranchMismatch(f"a loop variable is {forms} in one loop", fix=ONE_FORM)
    after: list[Any] = pytree.tree_unflatten(variables.values, form)
    return after


def _next(given: Any, form: pytree.TreeSpec) -> tuple[Any, ...]:
    values = list(given) if isinstance(given, list | tuple) else [given]
    if len(values) != form.num_children:
        raise InputError(
            f"the body of a loop returns {len(values)} values for {form.num_children} variables",
            fix="return one for each",
        )
    leaves, its = pytree.tree_flatten(values)
    if its != form:
        raise LoopStateChanged("the body of a loop returns values of another structure",
                               fix=ONE_FORM)  # fmt: skip
    return tuple(leaves)


def _mixed(leaves: Any) -> str | None:
    """The forms of the first value that a path gives one of several; None if there is no such."""
    for leaf in leaves:
        if isinstance(leaf, Union):
            return " and ".join(_in_words(one) for one in leaf.alternatives)
    return None


def _in_words(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return f"a {str(value.dtype).removeprefix('torch.')} tensor of rank {value.dim()}"
    return "None" if value is None else f"{with_article(type(value).__name__)}"


def _nothing() -> None:
    return None


def Print(input: Any, message: str | None = None) -> Any:  # noqa: N802, A002 (Paddle's names)
    """Print `input` in each run, after `message`; returns `input`."""
    builder = current_builder()
    if builder is None:
        print(*([] if message is None else [message]), input)  # noqa: T201 (it is asked for)
        return input
    parts: list[Arg] = [] if message is None else [message]
    builder.emit("stator::print", (*parts, builder.arg(input)))
    return input


def Assert(cond: Any, data: Sequence[Any] | None = None) -> None:  # noqa: N802 (Paddle's name)
    """Raise AssertionError with the values of `data` in each run in which `cond` is false."""
    builder = current_builder()
    condition = bool(cond) if builder is None else builtin_truth(builder, cond)

    def fail() -> None:
        raise AssertionError(*([] if data is None else [_text(builder, data)]))

    if condition is False:
        fail()
    if builder is None or condition is True:
        return
    if data is None:
        builder.emit("stator::assert", (builder.arg(condition), None))
    else:
        capture_if(builder, condition, _nothing, fail)


def _text(builder: Builder | None, data: Sequence[Any]) -> Any:
    """The values, one after another; in a program a text that each run makes."""
    if builder is None or not any(isinstance(one, torch.Tensor | Number) for one in data):
        return ", ".join(map(str, data))
    parts: list[Arg] = []
    for index, one in enumerate(data):
        parts += [", "] if index else []
        parts.append(_format(builder, one) if isinstance(one, torch.Tensor | Number) else str(one))
    text = builder.new_value(TextType())
    builder.emit("stator::join", parts, [text])
    return CapturedText(text)


def _format(builder: Builder, value: Any) -> Arg:
    text = builder.new_value(TextType())
    builder.emit("stator::format", (builder.arg(value), None, None), [text])
    return text
