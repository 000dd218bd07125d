"""The record of a program and its inputs, comparison with eager PyTorch, and the path of a call."""

from __future__ import annotations

import hashlib
import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import numpy
import torch

HERE = Path(__file__).resolve().parent
CASE_FOLDER = str(HERE / "cases")
GROUPS = (
    "if_else", "while_loop", "for_range", "for_tensor_and_enumerate", "break_continue",
    "early_return", "logical_ops", "casts", "print_len_lambda", "assert_raise",
    "nested_calls_and_closures", "lists_tensor_array", "dicts_and_containers", "shapes_dynamic",
    "inplace_mutation", "classes_modules", "generators_comprehensions", "numpy_inside",
    "recursion", "nested_lists", "try_except_with", "strings_fstrings_isinstance",
    "real_models", "training",
)  # fmt: skip


@dataclass
class Case:
    """One program: what is converted, the inputs it is run on, and what else is compared."""

    name: str
    target: Any  # a module-level function, or an nn.Module class without constructor arguments
    inputs: list[tuple[Any, ...]]  # a capturing tool sees the first only
    dynamic: tuple[Mapping[int, str] | None, ...] | None = None  # for each input {dimension: name}
    paths: int = 2  # the fewest distinct Python paths that the inputs take in eager
    train: bool = False  # also compare gradients of inputs and parameters
    stateful: bool = False  # a module whose buffers or attributes carry over between calls
    may_raise: bool = False  # eager raises on some input: the converted program must raise there
    stdout: bool = False  # prints at run time (counted, but not part of the verdict)
    origin: str = ""
    paddle_listed: str = "unlisted"  # what Paddle's list of supported syntax says of the construct
    split: str = "visible"
    group: str = ""

    @property
    def is_module(self) -> bool:
        """Whether the target is a class of modules rather than a function."""
        return isinstance(self.target, type)

    def make(self) -> Any:
        """The function, or a new module with the same initial weights each time."""
        torch.manual_seed(0)
        return self.target() if self.is_module else self.target


class Call(NamedTuple):
    """The outcome of one call: its output or its exception, and gradients."""

    output: Any
    error: Exception | None
    input_gradients: list[torch.Tensor | None] | None
    parameter_gradients: dict[str, torch.Tensor | None] | None


def load_cases(groups: Sequence[str] | None = None) -> list[Case]:
    """The programs of these groups, or all, in order."""
    if str(HERE) not in sys.path:
        sys.path.insert(0, str(HERE))
    cases = []
    for group in groups or GROUPS:
        for case in importlib.import_module(f"cases.{group}").CASES:
            case.group = group
            cases.append(case)
    names = [case.name for case in cases]
    assert len(names) == len(set(names)), [name for name in names if names.count(name) > 1]
    return cases


# Inputs. The names are short because every case uses them.


def f(*values: Any) -> torch.Tensor:
    """A float tensor from numbers or one nested list."""
    return torch.tensor(values[0] if len(values) == 1 else list(values), dtype=torch.float32)


def i(*values: Any) -> torch.Tensor:
    """An int64 tensor from numbers or one nested list."""
    return torch.tensor(values[0] if len(values) == 1 else list(values), dtype=torch.int64)


def b(values: Any) -> torch.Tensor:
    """A bool tensor from a nested list."""
    return torch.tensor(values, dtype=torch.bool)


def r(seed: int, *shape: int, scale: float = 1.0, shift: float = 0.0) -> torch.Tensor:
    """A normally distributed tensor that depends on the seed only."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator) * scale + shift


# Nested values.


def tree_map(function: Callable[[Any], Any], value: Any) -> Any:
    """`value` with `function` applied to everything inside that is no dict, tuple or list."""
    if isinstance(value, dict):
        return {key: tree_map(function, item) for key, item in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*[tree_map(function, item) for item in value])
    if isinstance(value, list | tuple):
        return type(value)(tree_map(function, item) for item in value)
    return function(value)


def clone_inputs(arguments: Any, requires_grad: bool = False) -> Any:
    """The arguments with new tensors, so that no run sees another's in-place changes."""

    def clone(leaf: Any) -> Any:
        if not isinstance(leaf, torch.Tensor):
            return leaf
        copy = leaf.detach().clone()
        if requires_grad and copy.is_floating_point():
            copy.requires_grad_(True)
        return copy

    return tree_map(clone, arguments)


def leaves(value: Any) -> list[Any]:
    """What a nested value has inside, in order."""
    if isinstance(value, dict):
        return [leaf for key in value for leaf in leaves(value[key])]
    if isinstance(value, list | tuple):
        return [leaf for item in value for leaf in leaves(item)]
    if hasattr(value, "__dataclass_fields__"):
        fields = value.__dataclass_fields__
        return [leaf for name in fields for leaf in leaves(getattr(value, name))]
    return [value]


def skeleton(value: Any) -> Any:
    """The structure of a nested value without its leaves."""
    if isinstance(value, dict):
        return ("dict", tuple((key, skeleton(item)) for key, item in value.items()))
    if isinstance(value, list | tuple):
        return ("seq", tuple(skeleton(item) for item in value))
    return "*"


# Comparison. Each function gives None when the two are equal, and otherwise a short reason.


def compare_leaf(eager: Any, other: Any) -> str | None:
    """Compare two leaves; a Python number of eager may come back as a one-element tensor."""
    other = as_torch(other)
    if isinstance(eager, torch.Tensor):
        return compare_tensor(eager, other)
    if isinstance(eager, bool | int | float):
        return compare_number(eager, other)
    return None if eager == other else f"value {other!r} != {eager!r}"


def as_torch(leaf: Any) -> Any:
    """A numpy array or number as a tensor; anything else unchanged."""
    if isinstance(leaf, numpy.ndarray) and leaf.dtype.kind not in "USO":
        return torch.from_numpy(numpy.array(leaf, order="C"))
    return torch.tensor(leaf.item()) if isinstance(leaf, numpy.generic) else leaf


def compare_tensor(eager: torch.Tensor, other: Any) -> str | None:
    """Compare dtype, shape and values: floats within a tolerance, anything else exactly."""
    if not isinstance(other, torch.Tensor):
        return f"leaf type {type(other).__name__} for tensor"
    if eager.dtype != other.dtype:
        return f"dtype {other.dtype} != {eager.dtype}"
    if eager.shape != other.shape:
        return f"shape {tuple(other.shape)} != {tuple(eager.shape)}"
    eager, other = eager.detach(), other.detach()
    if eager.is_floating_point():
        double = eager.double(), other.double()
        equal = torch.allclose(*double, rtol=1e-4, atol=1e-5, equal_nan=True)
    else:
        equal = torch.equal(eager, other)
    return None if equal else f"value {beginning_of(other)} != {beginning_of(eager)}"


def beginning_of(tensor: torch.Tensor) -> str:
    """The first values of a tensor."""
    return str(tensor.flatten()[:4].tolist())[:60]


def compare_number(eager: float, other: Any) -> str | None:
    """Compare a Python number with a number or a tensor of one element."""
    if isinstance(other, torch.Tensor):
        if other.numel() != 1:
            return f"shape {tuple(other.shape)} for a Python number"
        other = other.item()
    try:
        equal = abs(float(eager) - float(other)) <= 1e-5 + 1e-4 * abs(float(eager))
    except (TypeError, ValueError):
        equal = False
    return None if equal else f"value {other!r} != {eager!r}"


def compare(eager: Any, other: Any, flat: bool = False) -> str | None:
    """Compare two results; `flat` ignores the structure, as an ONNX model's outputs have none."""
    if flat:
        expected = [leaf for leaf in leaves(eager) if leaf is not None]
    else:
        if skeleton(eager) != skeleton(other):
            return f"structure {skeleton(other)} != {skeleton(eager)}"[:120]
        expected = leaves(eager)
    found = leaves(other)
    if len(expected) != len(found):
        return f"{len(found)} outputs, eager has {len(expected)}"
    reasons = (compare_leaf(*pair) for pair in zip(expected, found, strict=True))
    return next((reason for reason in reasons if reason), None)


def compare_gradients(eager: Call, other: Call) -> str | None:
    """Compare the gradients of inputs and parameters; a missing one counts as zeros."""
    pairs = [
        (f"input{k}", *pair)
        for k, pair in enumerate(
            zip(eager.input_gradients or (), other.input_gradients or (), strict=False)
        )
    ]
    mine, theirs = eager.parameter_gradients or {}, other.parameter_gradients or {}
    if len(mine) == len(theirs):
        pairs += [
            (name, mine[name], found) for name, found in zip(mine, theirs.values(), strict=True)
        ]
    for name, one, two in pairs:
        if (reason := compare_gradient(name, one, two)) is not None:
            return reason
    return None


def compare_gradient(
    name: str, eager: torch.Tensor | None, other: torch.Tensor | None
) -> str | None:
    """Compare two gradients, either of which may be missing."""
    if eager is None and other is None:
        return None
    one = torch.zeros_like(other) if eager is None else eager
    two = torch.zeros_like(one) if other is None else other
    if torch.allclose(one, two, rtol=1e-3, atol=1e-5, equal_nan=True):
        return None
    return f"grad of {name} differs by {(one - two).abs().max():.3g}"


# Running.


def path_of(function: Callable[..., Any], arguments: Sequence[Any]) -> str:
    """A hash of the opcodes that a call runs inside the cases: branches and iterations show."""
    digest = hashlib.sha1()

    def trace_opcode(frame: FrameType, event: str, _: Any) -> Any:
        if event == "opcode":
            digest.update(f"{frame.f_code.co_name}:{frame.f_lasti};".encode())
        return trace_opcode

    def trace_call(frame: FrameType, _event: str, _argument: Any) -> Any:
        if not frame.f_code.co_filename.startswith(CASE_FOLDER):
            return None
        frame.f_trace_opcodes = True
        return trace_opcode

    before = sys.gettrace()
    sys.settrace(trace_call)
    try:
        function(*arguments)
    except Exception:  # noqa: BLE001  (the path to an error is a path)
        pass
    finally:
        sys.settrace(before)
    return digest.hexdigest()


def run_eager(case: Case, gradients: bool | None = None) -> list[Call]:
    """Every input, in order, on one new instance."""
    target = case.make()
    return run_callable(case, target, target, gradients)


def run_callable(
    case: Case, call: Callable[..., Any], owner: Any, gradients: bool | None = None
) -> list[Call]:
    """Every input, in order; `owner` is the module whose parameters have the gradients."""
    gradients = case.train if gradients is None else gradients
    calls = []
    for arguments in case.inputs:
        inputs = clone_inputs(arguments, requires_grad=gradients)
        if isinstance(owner, torch.nn.Module):
            owner.zero_grad(set_to_none=True)
        try:
            output = call(*inputs)
            found = backward(output, inputs, owner) if gradients else (None, None)
            calls.append(Call(detached(output), None, *found))
        except Exception as error:  # noqa: BLE001  (the error is what is compared)
            calls.append(Call(None, error, None, None))
    return calls


def detached(output: Any) -> Any:
    """The output with copies of its tensors, which a later call cannot change."""
    if hasattr(output, "__dataclass_fields__"):
        return output
    return tree_map(
        lambda leaf: leaf.detach().clone() if isinstance(leaf, torch.Tensor) else leaf, output
    )


def backward(
    output: Any, inputs: Any, owner: Any
) -> tuple[list[torch.Tensor | None], dict[str, torch.Tensor | None]]:
    """Gradients of a loss that weighs every float tensor of the output differently."""
    loss: Any = 0.0
    for k, leaf in enumerate(leaves(output)):
        if is_float(leaf):
            loss = loss + (leaf * (k + 1.0)).sum() + (leaf**2).sum() * 0.1
    loss.backward()
    of_inputs = [copy_of(leaf.grad) for leaf in leaves(inputs) if is_float(leaf)]
    if not isinstance(owner, torch.nn.Module):
        return of_inputs, {}
    return of_inputs, {name: copy_of(one.grad) for name, one in owner.named_parameters()}


def is_float(leaf: Any) -> bool:
    """Whether a leaf is a tensor that can have a gradient."""
    return isinstance(leaf, torch.Tensor) and leaf.is_floating_point()


def copy_of(gradient: torch.Tensor | None) -> torch.Tensor | None:
    """A copy of a gradient that is there."""
    return None if gradient is None else gradient.clone()
