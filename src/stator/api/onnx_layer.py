"""OnnxLayer: a saved model that ONNX Runtime runs, with the signature that it was saved with."""

from __future__ import annotations

import inspect
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from stator.api.loaded_calls import call_leaves, describe_method
from stator.errors import FormatError, IntegerOverflow, SizeCheckFailed, SpecMismatch
from stator.execute.backend import RaisedError
from stator.execute.structure import unflatten
from stator.export.files import Paths
from stator.export.methods import Method, mode_name
from stator.export.onnx.session import OnnxSession, RunFailure, from_result, to_feed
from stator.export.saved_model import SavedModel
from stator.frames import user_facing
from stator.location import Location
from stator.program.ir import Arg, Value
from stator.program.program import Program
from stator.program.types import NumberType, TextType, Type


def onnx_file(path: str | os.PathLike[str], method: str = "forward") -> Path:
    """Where the ONNX model of a method is."""
    text = Paths.of(path).text
    return text.with_name(text.stem + ("" if method == "forward" else f".{method}") + ".onnx")


def program_name(method: Method, *, training: bool) -> str:
    """The program of a method that its ONNX model has: that of the mode it was saved in."""
    mode = mode_name(training)
    return method.programs.get(mode) or next(iter(method.programs.values()))


class OnnxMethod:
    """One method: its model in ONNX Runtime, and the program that it was made from."""

    def __init__(
        self,
        session: OnnxSession,
        program: Program,
        state: dict[str, torch.Tensor],
        name: str = "forward",
        signature: inspect.Signature | None = None,
    ) -> None:
        self.session, self.program, self.state = session, program, state
        self.names = [value.name for value in program.inputs]
        self.kinds = [_kind(arg) for arg in program.body.outputs]
        self.__name__, self._signature = name, signature

    @user_facing
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """What the method gives."""
        leaves = call_leaves(self.program, self._signature, self.__name__, (args, kwargs))
        found = self.run(leaves)
        if isinstance(found, RunFailure):
            raise exception(found)
        return unflatten(self.program.output_structure, found)

    @property
    def __signature__(self) -> inspect.Signature:
        return self._signature or inspect.signature(type(self).__call__, follow_wrapped=False)

    def __repr__(self) -> str:
        return f"<saved method {self.description}, in ONNX Runtime>"

    @property
    def description(self) -> str:
        """Its inputs and outputs."""
        return describe_method(self.__name__, self.program, self._signature)

    def run(self, leaves: Sequence[object]) -> tuple[Any, ...] | RunFailure:
        """The flat outputs; the state and the inputs that the program writes are changed."""
        given = dict(zip(self.names, leaves, strict=True))
        feeds = {v.name: to_feed(given[v.name], v.type) for v in self.program.inputs}
        for name, _ in self.session.states:
            if name not in given:
                feeds[name] = self.state[name].detach().numpy()
        found = self.session.run(feeds)
        if isinstance(found, RunFailure):
            return found
        count = len(self.kinds)
        for (name, _), new in zip(self.session.states, found[count:], strict=True):
            target = given[name] if name in given else self.state[name]
            assert isinstance(target, torch.Tensor)
            with torch.no_grad():
                target.copy_(torch.from_numpy(new))
        return tuple(from_result(v, k) for v, k in zip(found, self.kinds, strict=False))


def _kind(arg: Arg) -> Type:
    if isinstance(arg, Value):
        return arg.type
    if isinstance(arg, str):
        return TextType()
    names: Mapping[type, Any] = {bool: "bool", int: "int", float: "float"}
    return NumberType(names.get(type(arg), "int"))


def exception(failure: RunFailure) -> Exception:
    """The exception that a run reports."""
    place = None
    if failure.place is not None:
        file, line, function = failure.place
        place = Location(file, line, 0, function)
    if failure.error == IntegerOverflow.__name__:
        return IntegerOverflow(failure.text, at=place)
    if failure.error == SizeCheckFailed.__name__:
        return SizeCheckFailed(failure.text, at=place)
    args = (failure.text,) if failure.text else ()
    notes = (f"  in the program at {place}",) if place else ()
    return RaisedError(failure.error, args, failure.classes, place=place, notes=notes).exception()


class OnnxLayer:
    """What `stator.load(path, backend="onnxruntime")` gives: call it, or a method by its name.

    `state` holds the buffers that calls change. There are no gradients, and one mode: the one that
    the model was saved in.
    """

    def __init__(self, path: str | os.PathLike[str], saved: SavedModel) -> None:
        self.state: dict[str, torch.Tensor] = {}
        self.properties = dict(saved.properties)
        self._methods: dict[str, OnnxMethod] = {}
        for name, method in saved.methods.items():
            file = onnx_file(path, name)
            if not file.exists():
                raise FormatError(f"{file} does not exist", fix="save the model with `onnx=True`")
            program = saved.programs[program_name(method, training=saved.training)]
            session = OnnxSession(file)
            for state, _ in session.states:
                if state in saved.tensors and state not in self.state:
                    self.state[state] = saved.tensors[state].clone()
            self._methods[name] = OnnxMethod(session, program, self.state, name, method.signature)

    @user_facing
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """What `forward` gives."""
        return self._method("forward")(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name in self.__dict__.get("_methods", ()):
            return self._method(name)
        if name == "__signature__":  # of a call of the model itself
            return self._method("forward").__signature__
        raise AttributeError(f"this model has no method or attribute {name!r}")

    def __repr__(self) -> str:
        described = [one.description for one in self._methods.values()]
        return "\n  ".join(["OnnxLayer(", *described]) + "\n)"

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._methods]

    def _method(self, name: str) -> OnnxMethod:
        if name not in self._methods:
            listed = ", ".join(self._methods) or "none"
            raise SpecMismatch(f"this model was saved without a method {name!r}; it has {listed}",
                               fix="call one that it has")  # fmt: skip
        return self._methods[name]
