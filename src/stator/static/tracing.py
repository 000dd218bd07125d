"""trace_layer(): one call of a module, recorded and done: its real outputs, and the program."""

from __future__ import annotations

import gc
import inspect
import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy
import torch

from stator.capture.errors.torch_words import torch_error
from stator.capture.inputs import InputReader, Inputs, TensorSpec
from stator.capture.modes import Modes
from stator.capture.results import Results
from stator.english import with_article
from stator.errors import CaptureError, StatorError, UnsupportedCall
from stator.execute.structure import unflatten
from stator.frames import place_of
from stator.location import Location
from stator.locks import ONE_AT_A_TIME
from stator.program.ir import Arg, Op, Value, ops_in
from stator.program.naming import renumber
from stator.program.program import Program
from stator.program.structure import Structure
from stator.program.verifier import verify
from stator.static.example_run import ExampleRun
from stator.static.watching import ForeignCodeMode
from stator.torch_private.dispatch import enable_python_dispatcher
from stator.torch_private.fake import FakeTensor
from stator.torch_private.modules import tables
from stator.values.contents import restore, same_state, state_of
from stator.values.symbolic import Number


@dataclass(frozen=True)
class RecordedCall:
    """A recorded call: what it gave, and the program that gives it again."""

    outputs: Any
    program: Program
    tensors: dict[str, torch.Tensor]  # the stored ones, live
    literals: frozenset[str]  # those among them that the code itself wrote down
    path_checks: tuple[Op, ...]  # what Python asked about sizes, as checks
    repeats: tuple[int, ...]  # for each input, where the same tensor was given first
    modes: Modes


def trace_layer(layer: torch.nn.Module, args: tuple[Any, ...]) -> RecordedCall:
    """Call `layer(*args)` once, and record it."""
    with ONE_AT_A_TIME:
        before = _attributes(layer)
        try:
            return _trace(layer, args, before)
        except BaseException:
            for state, contents in before:
                if not same_state(contents, state_of(state)):
                    restore(state, contents)
            raise


def _trace(layer: torch.nn.Module, args: tuple[Any, ...], before: list[Any]) -> RecordedCall:
    run, modes = ExampleRun(), Modes.current()
    _name_tensors(run, layer)
    inputs = _inputs(run, layer, args)
    given = [(held, state_of(held)) for held, _ in inputs.containers.values()]
    with _recording(run):
        drawn = _python_random()
        value = layer(*inputs.args)
        run.refusals.raise_first()
        _refuse_random(drawn)
        _refuse_changes(before, given)
        results = _Outputs(run)
        structure = results.structure_of(value)
        outputs = unflatten(structure, results.real, classes=results.classes)
    program = _program(run, type(layer).__name__, inputs, results.leaves, structure)
    del value, inputs, given, results
    _refuse_kept(run, program)
    return RecordedCall(
        outputs, verify(renumber(program)), run.stored_tensors, frozenset(run.literals),
        tuple(run.path_checks), repeats_in(tensors_in(args)), modes,
    )  # fmt: skip


def _program(
    run: ExampleRun, name: str, inputs: Inputs, leaves: list[Arg], structure: Structure
) -> Program:
    body = run.scope.block
    body.outputs = tuple(leaves)
    return Program(name, tuple(inputs.values), tuple(run.stored), body, inputs.structure, structure)


@contextmanager
def _recording(run: ExampleRun) -> Iterator[None]:
    grad = torch.is_grad_enabled()
    try:
        watch = ForeignCodeMode(run, run.refusals, run.real_of)
        with watch, run.fake, enable_python_dispatcher(), run:
            yield
        run.refusals.raise_first()
    except StatorError:
        raise
    except Exception as error:
        if _is_of_the_recorder(error):
            raise CaptureError(
                f"torch cannot trace this: {torch_error(error)}",
                at=place_of(error), fix="use `stator.to_static`, or write it with other ops",
            ) from error  # fmt: skip
        raise
    finally:
        torch.set_grad_enabled(grad)


def _is_of_the_recorder(error: Exception) -> bool:
    """Does the code fail because it was given symbolic tensors, not real ones?"""
    signs = ("FakeTensor", "SymInt", "SymFloat", "meta tensor")
    torch_own = type(error).__module__.startswith(("torch.fx", "torch._subclasses"))
    return torch_own or any(sign in str(error) for sign in signs)


def _name_tensors(run: ExampleRun, layer: torch.nn.Module) -> None:
    for name, parameter in layer.named_parameters():
        run.known_names.setdefault(id(parameter), ("parameter", name))
    for name, buffer in layer.named_buffers():
        run.known_names.setdefault(id(buffer), ("buffer", name))


# ---- inputs


def _inputs(run: ExampleRun, layer: torch.nn.Module, args: tuple[Any, ...]) -> Inputs:
    """Symbolic arguments; a size of 2 or more is open, 0 and 1 stay as they are."""
    leaves: list[torch.Tensor] = []
    specs = _specs(args, _argument_names(layer), leaves)
    with run.quiet():
        inputs = InputReader(run).read(specs, {})
    symbolic = tensors_in(inputs.args)
    for one, real in zip(symbolic, leaves, strict=True):
        run.stands_for(one, real)
        run.sizes.add_sizes(one)
    first = {id(real): one for one, real in reversed(list(zip(symbolic, leaves, strict=True)))}
    same = {id(one): first[id(real)] for one, real in zip(symbolic, leaves, strict=True)}
    return replace(inputs, args=tuple(_replaced(arg, same) for arg in inputs.args))


def _replaced(tree: Any, same: dict[int, torch.Tensor]) -> Any:
    """`tree` with one tensor wherever the caller gave one: code may ask whether two are one."""
    if isinstance(tree, torch.Tensor):
        return same[id(tree)]
    if isinstance(tree, list):
        tree[:] = [_replaced(item, same) for item in tree]
    elif isinstance(tree, dict):
        tree.update({key: _replaced(item, same) for key, item in tree.items()})
    elif isinstance(tree, tuple):
        items = [_replaced(item, same) for item in tree]
        return type(tree)(*items) if hasattr(tree, "_fields") else tuple(items)
    return tree


def repeats_in(tensors: list[torch.Tensor]) -> tuple[int, ...]:
    """For each tensor, the position where it is first: code may ask whether two are one."""
    first: dict[int, int] = {}
    return tuple(first.setdefault(id(tensor), index) for index, tensor in enumerate(tensors))


def _argument_names(layer: torch.nn.Module) -> list[str]:
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = inspect.signature(layer.forward).parameters.values()
    return [parameter.name for parameter in parameters if parameter.kind in kinds]


def _specs(args: tuple[Any, ...], names: list[str], leaves: list[torch.Tensor]) -> tuple[Any, ...]:
    return tuple(
        _spec(arg, names[index] if index < len(names) else None, leaves)
        for index, arg in enumerate(args)
    )


def _spec(value: Any, name: str | None, leaves: list[torch.Tensor]) -> Any:
    """`value` with each tensor replaced by its spec."""
    if isinstance(value, torch.Tensor):
        leaves.append(value)
        sizes, strides = tuple(int(s) if s < 2 else None for s in value.shape), None
        if not value.is_contiguous():  # strides are known of fixed sizes alone
            sizes, strides = tuple(value.shape), value.stride()
        return TensorSpec(sizes, value.dtype, value.device, value.requires_grad, name, strides)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*[_spec(item, None, leaves) for item in value])
    if isinstance(value, list | tuple):
        return type(value)(_spec(item, None, leaves) for item in value)
    if isinstance(value, dict):
        return {key: _spec(item, None, leaves) for key, item in value.items()}
    if value is None or isinstance(value, bool | int | float | complex | str):
        return value
    raise UnsupportedCall(
        f"a layer cannot be traced with {with_article(type(value).__name__)}",
        fix="give tensors, numbers, strings, None, or lists, tuples and dicts of these",
    )


def tensors_in(tree: Any) -> list[torch.Tensor]:
    """The tensors of nested arguments, in order."""
    if isinstance(tree, torch.Tensor):
        return [tree]
    if isinstance(tree, dict):
        tree = tuple(tree.values())
    return [t for item in tree for t in tensors_in(item)] if isinstance(tree, list | tuple) else []


# ---- results


class _Outputs(Results):
    """Takes the result apart; `real` are its leaves as the run has them."""

    def __init__(self, run: ExampleRun) -> None:
        super().__init__(run, lambda _: False)
        self.run, self.real = run, list[Any]()

    def structure_of(self, value: Any) -> Structure:
        """The structure of `value`, whose leaves go to both lists."""
        if isinstance(value, torch.Tensor | Number):
            self.real.append(self.run.real_of(value))
        return super().structure_of(value)


# ---- what else the call did


def _attributes(layer: torch.nn.Module) -> list[tuple[Any, Any]]:
    """Every place where a module keeps something, with what is there now."""
    places: list[Any] = []
    for module in layer.modules():
        own = vars(module)
        places += [module, *tables(module)]
        places += [held for held in own.values() if type(held) in (list, dict, set)]
    return [(place, state_of(place)) for place in places]


def _refuse_changes(before: list[Any], given: list[Any]) -> None:
    for place, contents in before:
        after = state_of(place)
        if same_state(contents, after):
            continue
        what = f"{with_article(type(place).__name__)}"
        if isinstance(after, dict):
            keys = [k for k in {**contents, **after} if _differs(k, contents, after)]
            what = f"`{keys[0]}`"
        raise UnsupportedCall(
            f"the call changes {what} of the layer, which a traced program would not do",
            fix="keep tensors in registered buffers and write them in place (`copy_`), "
            "or use `stator.to_static`",
        )
    for held, contents in given:
        if not same_state(contents, state_of(held)):
            raise UnsupportedCall(
                f"the call changes a {'list' if isinstance(held, list) else 'dict'} that it is "
                "given, which a traced program would not do",
                fix="return the new value, or use `stator.to_static`",
            )


def _python_random() -> tuple[Any, ...]:
    return random.getstate(), numpy.random.get_state()[1].tobytes()  # type: ignore[index]


def _refuse_random(before: tuple[Any, ...]) -> None:
    if _python_random() != before:
        raise UnsupportedCall(
            "the layer draws random numbers of Python or numpy, which a traced program would not",
            fix="draw them with torch",
        )


def _differs(key: Any, contents: dict[Any, Any], after: dict[Any, Any]) -> bool:
    if key not in contents or key not in after:
        return True
    return not same_state((contents[key],), (after[key],))


def _refuse_kept(run: ExampleRun, program: Program) -> None:
    """A tensor of the run that is still alive is kept by somebody, who would see no other."""
    if _kept(run):
        gc.collect()  # it may be in a cycle that no one holds
    for value in _kept(run):
        raise UnsupportedCall(
            "a tensor that the call makes is kept outside of it, "
            "which a traced program would not do",
            at=_made_at(program, value), fix="return it, or use `stator.to_static`",
        )  # fmt: skip


def _kept(run: ExampleRun) -> list[Value]:
    """What the tensors of the run that are alive are in the program."""
    alive = (run.find(tensor) for tensor in list(run.reals) if isinstance(tensor, FakeTensor))
    return [value for value in alive if value is not None]


def _made_at(program: Program, value: Value) -> Location | None:
    return next((op.place for op in ops_in(program.body) if value in op.results), None)
