"""Ops of torch by torch's own function library for ONNX.

The library takes operands of one dtype; the promotion that torch does is written out here as casts.
Where torch raises an error for values that ONNX Runtime accepts, a check comes first.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx_ir as ir
import torch

from stator.export.onnx.lowering import Lowering
from stator.export.onnx.numbers import kind_of_number
from stator.export.onnx.scope import D
from stator.export.onnx.sequences import rows_of
from stator.export.onnx.types import NUMBERS, element_type
from stator.program.ir import Arg, Literal, Op, Value
from stator.program.registry import argument_names, resolve, schema_of
from stator.program.types import ListType, NumberType, TensorType
from stator.program.typing_rules import present
from stator.torch_private.onnx_library import function_of, is_script, new_value, recording

UNPROMOTED = frozenset({"alpha", "beta", "value", "lambd", "negative_slope", "condition", "mask"})
EXACT = frozenset({"alpha", "beta", "fill_value"})  # numbers that the library takes as float32
OPERANDS = EXACT | {"self", "other", "exponent", "value", "min", "max", "start", "end", "step"}
SAME_TYPE = frozenset(
    {"Add", "Sub", "Mul", "Div", "Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal", "Max",
     "Min", "Where"}
)  # fmt: skip # nodes whose operands have one type
IGNORED = frozenset(
    {"layout", "device", "pin_memory", "memory_format", "non_blocking", "generator", "copy"}
)
RANDOM_TEXT = "the numbers of ONNX Runtime's generators are not torch's"


def dtype_of(arg: Arg) -> torch.dtype | None:
    """The dtype of a tensor."""
    kind = present(arg.type) if isinstance(arg, Value) else None
    return getattr(torch, kind.dtype) if isinstance(kind, TensorType) else None


def arguments_of(op: Op) -> dict[str, Arg]:
    """The arguments of an op of torch, by name."""
    return {**dict(zip(argument_names(op.name), op.args, strict=False)), **op.attributes}


def promoted_dtype(op: Op, *, pointwise: bool = False) -> torch.dtype | None:
    """The dtype that a pointwise op computes in; None for other ops."""
    if not pointwise and "pointwise" not in schema_of(op.name).tags:
        return None
    operands = [arg for name, arg in arguments_of(op).items() if name not in UNPROMOTED]
    tensors = [arg for arg in operands if dtype_of(arg) is not None]
    if not tensors:
        return None
    found = [
        torch.empty([1] * rank(arg), dtype=dtype_of(arg), device="meta") for arg in tensors
    ] + [
        {"int": 1, "bool": True, "float": 1.0}.get(kind_of_number(arg), 1)
        for arg in operands
        if dtype_of(arg) is None and kind_of_number(arg) in NUMBERS
    ]
    dtype = tensors and dtype_of(tensors[0])
    assert isinstance(dtype, torch.dtype)
    result = op.results[0].type
    if isinstance(result, TensorType) and result.dtype != "bool":
        return getattr(torch, result.dtype)
    if len(found) == 1:
        return dtype
    return _result_type(found)


def _result_type(operands: Sequence[Any]) -> torch.dtype:
    """What `torch.result_type` gives for all of them."""
    whole = operands[0]
    for other in operands[1:]:
        dtype = torch.result_type(whole, other)
        ranks = [item.dim() if isinstance(item, torch.Tensor) else 0 for item in (whole, other)]
        whole = torch.empty([1] * max(ranks), dtype=dtype, device="meta")
    return whole.dtype


def rank(arg: Arg) -> int:
    """The number of dimensions of a tensor."""
    kind = present(arg.type) if isinstance(arg, Value) else None
    assert isinstance(kind, TensorType)
    return len(kind.shape)


def lower_torch(to: Lowering, op: Op) -> None:
    """An op of torch, as the library writes it."""
    schema = schema_of(op.name)
    if "nondeterministic_seeded" in schema.tags and arguments_of(op).get("dropout_p", 0.0) == 0.0:
        is_random = "dropout_p" not in argument_names(op.name)
    else:
        is_random = "nondeterministic_seeded" in schema.tags
    if is_random:
        to.refuse(f"{op.name} draws random numbers: {RANDOM_TEXT}",
                  "compute them outside, and pass them in")  # fmt: skip
    if schema.is_mutable:
        to.refuse(f"{op.name} writes to its arguments")
    call(to, op)


def call(to: Lowering, op: Op) -> None:
    """Record the library's function for `op`, and bind its results."""
    function = function_of(resolve(op.name))
    if function is None:
        to.refuse(f"{op.name} has no counterpart in torch's function library for ONNX")
    assert function is not None
    wanted, floats = promoted_dtype(op), _dtype_of_floats(op)
    given: dict[str, Any] = {}
    types = {one.name: one.type for one in schema_of(op.name).arguments}
    for name, arg in arguments_of(op).items():
        if name in IGNORED:
            continue
        constant = not isinstance(arg, Value) and "Tensor" not in types[name]
        promotes = wanted is not None and name not in UNPROMOTED and not constant
        given[name] = operand(to, arg, wanted if promotes else None, floats)
        if isinstance(arg, float) and floats is D.DOUBLE and _needs_double(op, name, arg):
            given[name] = to.scope.constant(arg, D.DOUBLE)
    if "dtype" in given and given["dtype"] is None:
        del given["dtype"]
    names = argument_names(op.name)
    positional = [given.pop(name) for name in names[: _leading(names, given)]]
    start = len(to.scope.nodes)
    try:
        with recording(to.scope.recorder):
            found = function(*positional, **given)
    except (RuntimeError, TypeError, ValueError, AssertionError) as error:
        reason = str(error.__cause__ or error).strip().splitlines()[0][:200]
        to.refuse(f"{op.name} cannot be written in ONNX for these arguments: {reason}")
    if to.scope.recorder.functions:
        to.scope.recorder.functions.clear()
        to.refuse(f"{op.name} is a function of its own in torch's library")
    if is_script(function):
        _cast_constants(to, op, start)
    inexact = inexact_numbers(op)
    for node in to.scope.nodes[start:]:
        _keep_zeros(node)
        if inexact and any(a.type is ir.AttributeType.FLOAT for a in node.attributes.values()):
            to.refuse(f"{op.name}: attributes of ONNX are float32, and {inexact[0]} is not",
                      "use float32 tensors")  # fmt: skip
    bind_results(to, op, found)


def _cast_constants(to: Lowering, op: Op, start: int) -> None:
    """Numbers in a function of the library, from the node `start` on, get the type beside them."""
    added = to.scope.nodes[start:]
    del to.scope.nodes[start:]
    for node in added:
        inputs = list(node.inputs)[1:] if node.op_type == "Where" else list(node.inputs)
        if node.op_type in SAME_TYPE and any(map(_is_number, inputs)):
            model = next((one for one in inputs if not _is_number(one)), None)
            for index, one in enumerate(node.inputs):
                if model is not None and one is not None and _is_number(one):
                    _check_digits(to, op, one)
                    node.replace_input_with(index, to.scope.emit("CastLike", one, model))
        to.scope.nodes.append(node)


def _is_number(value: ir.Value | None) -> bool:
    maker = value.producer() if value is not None else None
    return maker is not None and maker.op_type == "Constant"


def _check_digits(to: Lowering, op: Op, value: ir.Value) -> None:
    """The numbers in the library are float32: for doubles, too few digits unless they are short."""
    numbers = value.producer().attributes["value"].as_tensor().numpy()  # type: ignore[union-attr]
    if _dtype_of_floats(op) is D.DOUBLE and bool((numbers * 1024 % 1 != 0).any()):
        to.refuse(f"{op.name} of doubles: torch's library for ONNX has its constants as float32",
                  "use float32 tensors")  # fmt: skip


def _keep_zeros(node: ir.Node) -> None:
    """A size 0 that a `Reshape` is given is 0; by default it is the size that was there.

    Not where the library wants the size that was, or one (-1) that follows from the others.
    """
    if node.op_type != "Reshape" or "allowzero" in node.attributes:
        return
    if not any(number < 1 for number in _constants_in(node.inputs[1])):
        node.attributes["allowzero"] = ir.AttrInt64("allowzero", 1)


def _constants_in(shape: ir.Value | None) -> list[int]:
    """The numbers in a shape that are constants; 0 for a part about which nothing is known."""
    maker = shape.producer() if shape is not None else None
    if maker is None:
        return [0]
    if maker.op_type == "Constant":
        (attribute,) = maker.attributes.values()
        found = attribute.value
        return [int(n) for n in np.asarray(getattr(found, "numpy", lambda: found)()).reshape(-1)]
    if maker.op_type == "Concat":
        return [number for part in maker.inputs for number in _constants_in(part)]
    if maker.op_type in ("Reshape", "Unsqueeze", "Cast", "Identity", "Squeeze"):
        return _constants_in(maker.inputs[0])
    return [] if maker.op_type in ("Shape", "Gather", "Slice", "Size") else [0]


def _dtype_of_floats(op: Op) -> ir.DataType:
    """What a `float` is for an op that does not promote it: double, unless it computes in less."""
    results = [kind.dtype for value in op.results if isinstance(kind := value.type, TensorType)]
    given = [found for arg in op.args if (found := dtype_of(arg)) is not None]
    computed = [getattr(torch, name) for name in results] + given
    floats = [dtype for dtype in computed if dtype.is_floating_point]
    return D.DOUBLE if not floats or floats[0] is torch.float64 else D.FLOAT


def inexact_numbers(op: Op) -> list[float]:
    """The constants of an op on doubles that a float32, as attributes of ONNX are, changes."""
    if _dtype_of_floats(op) is not D.DOUBLE:
        return []
    return [
        arg
        for name, arg in arguments_of(op).items()
        if isinstance(arg, float) and name not in OPERANDS
        and math.isfinite(arg) and _converted(arg, torch.float32) != arg
    ]  # fmt: skip


def _needs_double(op: Op, name: str, number: float) -> bool:
    """Whether the library would make float32 of a number, and change it."""
    is_kept = name in EXACT or (name == "value" and op.name.startswith("aten::masked_fill"))
    return is_kept and _converted(number, torch.float32) != number


def _leading(names: Sequence[str], given: dict[str, Any]) -> int:
    """How many arguments can be given by position."""
    count = 0
    while count < len(names) and names[count] in given:
        count += 1
    return count


def bind_results(to: Lowering, op: Op, found: Any) -> None:
    """The results of `op` are what a function has recorded."""
    if len(op.results) == 1 and isinstance(found, Sequence) and not isinstance(found, ir.Value):
        kind = present(op.results[0].type)
        found = found[0] if not isinstance(kind, ListType) else found
    if len(op.results) == 1:
        bind_one(to, op.results[0], found)
        return
    if isinstance(found, ir.Value):  # a sequence, of which each item is a result
        found = [
            to.scope.emit("SequenceAt", found, to.scope.int64(k)) for k in range(len(op.results))
        ]
    for value, one in zip(op.results, found, strict=False):
        bind_one(to, value, one)


def bind_one(to: Lowering, value: Value, found: ir.Value) -> None:
    """`found` represents `value`; what comes from outside gets a node of its own."""
    if not to.scope.is_own(found) or to.scope.values.get(value) is not None or _is_bound(to, found):
        found = to.scope.emit("Identity", found)
    to.bind(value, found)


def _is_bound(to: Lowering, found: ir.Value) -> bool:
    return any(found is other for other in to.scope.values.values())


def operand(
    to: Lowering, arg: Arg, wanted: torch.dtype | None, floats: ir.DataType = D.FLOAT
) -> Any:
    """An argument for the library: a value, a constant, or a list of these."""
    if isinstance(arg, Literal):
        return _literal(to, arg)
    if isinstance(arg, tuple):
        return [operand(to, item, wanted, floats) for item in arg]
    if isinstance(arg, Value):
        found = to.value(arg)
        kind = present(arg.type)
        if isinstance(kind, ListType) and to.is_stacked(kind):
            return rows_of(to.scope, found)
        if wanted is not None and isinstance(kind, TensorType | NumberType):
            return to.scope.cast(found, _element(to, wanted))
        if isinstance(kind, NumberType) and kind.kind == "float":
            return to.scope.cast(found, floats)
        return found
    if wanted is not None and isinstance(arg, bool | int | float):
        return to.scope.constant(
            _converted(arg, wanted), element_type(TensorType(_name(wanted), ()), to.place)
        )
    return arg


def _converted(arg: float, wanted: torch.dtype) -> Any:
    return torch.tensor(arg, dtype=wanted).item()


def _element(to: Lowering, dtype: torch.dtype) -> ir.DataType:
    return element_type(TensorType(_name(dtype), ()), to.place)


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def _literal(to: Lowering, arg: Literal) -> Any:
    if arg.kind == "dtype":
        return int(element_type(TensorType(arg.text, ()), to.place))
    return None


def new_tensor(to: Lowering, op: Op, index: int = 0) -> ir.Value:
    """A value of the type of a result of `op`."""
    kind = op.results[index].type
    return new_value("", ir.TensorType(element_type(kind, to.place)), None)
