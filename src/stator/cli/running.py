"""run: a saved model on arrays from files, or on values given by hand."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy
import safetensors.torch
import torch
from rich.console import Console
from rich.text import Text

from stator.ahead.using import trusted_libraries
from stator.api.loaded_calls import inputs_by_parameter
from stator.api.translated import LibrariesOnDevice, TranslatedLayer, run_method
from stator.cli.failures import CommandFailure, user_code
from stator.cli.inputs import CommandInput, describe, read_inputs, tensor_of
from stator.cli.origin import Origin
from stator.cli.screen import CommandOutcome, columns, show_table, working
from stator.cli.targets import saved_program
from stator.execute.structure import unflatten
from stator.export.saved_model import SavedModel, read_model
from stator.program.ir import Value
from stator.program.program import Program
from stator.program.signatures import inputs_in_words
from stator.program.types import TensorType
from stator.program.unions import presence_of, tag_of
from stator.values.containers import (
    DATACLASS,
    DICT,
    LIST,
    NAMED_TUPLE,
    TUPLE,
    Containers,
    has_fields,
)

PREVIEW = 6  # numbers of a tensor that are shown
ALONE = "output"  # the name of a result that is no part of another
FIELDS = replace(NAMED_TUPLE, covers=has_fields)
RESULTS = Containers(DICT, DATACLASS, FIELDS, TUPLE, LIST)
WRITERS = (".npz", ".npy", ".safetensors")
NOT_IN_NUMPY = (torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2)


def run(
    model: str,
    origin: Origin,
    method: str,
    device: str,
    trust_compiled: bool,
    output: str | None,
) -> CommandOutcome:
    """Run a method of the model and show, or write, what it gives."""
    if output is not None and Path(output).suffix not in WRITERS:
        raise CommandFailure(f"--output: `{output}` is none of {', '.join(WRITERS)}",
                      fix="give the file such an ending")  # fmt: skip
    saved = read_model(model)
    libraries = trusted_libraries(model, saved.digest) if trust_compiled else None
    layer, args, kwargs = prepared_call(saved, method, origin, device, libraries)
    torch.manual_seed(origin.seed)
    with working(f"running {model}"), user_code(f"{method} of {model} raised"), torch.no_grad():
        result = run_method(layer, method, *args, **kwargs)
    results = named_parts(result)
    written = _write(output, results) if output is not None else ()
    missing = [name for name in results if output is not None and name not in written]
    data = {
        "model": model,
        "method": method,
        "outputs": [_part_data(n, value, output is None) for n, value in results.items()],
        "written": output,
        "not_written": missing,
    }
    return CommandOutcome(data, lambda screen: _show(screen, results, output, missing))


def prepared_call(
    saved: SavedModel,
    method: str,
    origin: Origin,
    device: str,
    libraries: LibrariesOnDevice | None = None,
) -> tuple[TranslatedLayer, tuple[Any, ...], dict[str, Any]]:
    """The loaded model in its mode and on its device, and the arguments of a call of `method`."""
    mode, given = origin.mode, read_inputs(origin.inputs, origin.seed, origin.sizes)
    program = saved_program(saved, method, mode)
    aliases = inputs_by_parameter(program, saved.methods[method].signature)
    leaves = _leaves(program, aliases, given)
    layer = TranslatedLayer(saved, libraries=libraries)
    if mode is not None:
        layer.train(mode == "train")
    try:
        where = torch.device(device)
        moved = [leaf.to(where) if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
        layer.to(where)
    except (RuntimeError, AssertionError) as error:
        raise CommandFailure(f"--device: {str(error).splitlines()[0]}",
                      fix="give a device that is there, such as cpu") from error  # fmt: skip
    args, kwargs = unflatten(program.input_structure, moved)
    return layer, args, kwargs


def _leaves(
    program: Program, aliases: Mapping[str, str], given: Sequence[CommandInput]
) -> list[Any]:
    """The value of each input of the program, by its name, that of its parameter, or in order."""
    own = {value.name for value in program.call_inputs}
    named = {
        one.name if one.name in own else aliases.get(one.name, one.name): one.value
        for one in given
        if one.name is not None
    }
    unnamed = [one.value for one in given if one.name is None]
    inputs = inputs_in_words(program)
    names = [name for name, _ in inputs]
    for name in named:
        if name not in names:
            raise CommandFailure(f"--input: the program has no input `{name}`",
                          fix=f"name one of {', '.join(names) or 'none: it takes no inputs'}"
                          )  # fmt: skip
    rest = [name for name in names if name not in named]
    if len(unnamed) > len(rest):
        raise CommandFailure(f"--input: {len(given)} inputs for a program that takes {len(names)}",
                      fix=f"give {_wanted(inputs)}")  # fmt: skip
    named |= dict(zip(rest, unnamed, strict=False))
    for name in names:
        if name not in named:
            raise CommandFailure(f"--input: there is none for `{name}`",
                          fix=f"give {_wanted(inputs)}")  # fmt: skip
    tags = _tags(program, named)
    return [_fitting((named | tags)[value.name], value) for value in program.call_inputs]


def _tags(program: Program, given: Mapping[str, Any]) -> dict[str, int]:
    """The tags of inputs that may be None: each says whether its input is given."""
    chosen = {
        present.union: 0 if given[value.name] is None else present.alternatives[0]
        for value in program.call_inputs
        if (present := presence_of(value.type)) is not None
    }
    return {
        value.name: chosen[tag.union]
        for value in program.call_inputs
        if (tag := tag_of(value.type)) is not None
    }


def _wanted(inputs: Sequence[tuple[str, str]]) -> str:
    return ", ".join(f"--input {name}=... ({kind})" for name, kind in inputs) or "none"


def _fitting(found: Any, value: Value) -> Any:
    """A literal as the tensor that the program takes; anything else as it is."""
    if isinstance(value.type, TensorType) and not isinstance(found, torch.Tensor):
        return tensor_of(found, getattr(torch, value.type.dtype), None, None)
    return found


def named_parts(result: Any) -> dict[str, Any]:
    """The leaves of a result, each under a name of its own: `0`, `hidden.2`."""
    named: dict[str, Any] = {}
    for path, part in RESULTS.paths(result):
        name = ".".join(map(str, path)) or ALONE
        while name in named:  # {"a.b": x, "a": {"b": y}}
            name += "_"
        named[name] = part
    return named


def _write(output: str, results: dict[str, Any]) -> tuple[str, ...]:
    """The names of what the file can hold, once it holds them."""
    path = Path(output)
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".safetensors":
        tensors = {n: r.contiguous() for n, r in results.items() if isinstance(r, torch.Tensor)}
        safetensors.torch.save_file(tensors, path)
        return tuple(tensors)
    found = {name: _array(name, result) for name, result in results.items()}
    arrays = {name: array for name, array in found.items() if array.dtype != object}
    if path.suffix == ".npz":
        _write_arrays(path, arrays)
    elif len(arrays) == 1:
        numpy.save(path, next(iter(arrays.values())), allow_pickle=False)
    else:
        raise CommandFailure(f"--output: a .npy file holds one array, and there are {len(arrays)}",
                      fix="write a .npz")  # fmt: skip
    return tuple(arrays)


def _write_arrays(path: Path, arrays: dict[str, numpy.ndarray[Any, Any]]) -> None:
    """What `numpy.savez` writes, which takes no array called `file`."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as stream:
                numpy.lib.format.write_array(stream, array, allow_pickle=False)


def _array(name: str, result: Any) -> numpy.ndarray[Any, Any]:
    if isinstance(result, torch.Tensor):
        if result.dtype in NOT_IN_NUMPY:
            raise CommandFailure(f"--output: numpy has no {result.dtype}, which `{name}` is",
                          fix="write a .safetensors")  # fmt: skip
        return numpy.asarray(result.cpu().resolve_conj().resolve_neg().numpy())
    return numpy.asarray(result)  # of None: an array of objects, which is not written


def _part_data(name: str, value: Any, with_values: bool) -> dict[str, Any]:
    """What a file holds is not printed as well: it may be large."""
    if isinstance(value, torch.Tensor):
        dtype, shape = str(value.dtype).removeprefix("torch."), list(value.shape)
        values = value.tolist() if with_values else None
        return {"name": name, "dtype": dtype, "shape": shape, "values": values}
    return {"name": name, "dtype": None, "shape": None, "values": value}


def _show(
    screen: Console, results: dict[str, Any], output: str | None, missing: Sequence[str]
) -> None:
    table = columns("output", "type", "value")
    for name, value in results.items():
        kind = describe(value) if isinstance(value, torch.Tensor) else type(value).__name__
        table.add_row(Text(name, style="bold"), kind, Text(_preview(value)))
    show_table(screen, table, indent=0)
    if output is not None:
        screen.print(f"written to {output}" if not missing else
                     f"written to {output}, without {', '.join(missing)}")  # fmt: skip


def _preview(value: Any) -> str:
    if not isinstance(value, torch.Tensor):
        return repr(value)
    flat = value.flatten()[:PREVIEW].tolist()
    shown = ", ".join(f"{one:.6g}" if isinstance(one, float) else str(one) for one in flat)
    return f"{shown}, ..." if value.numel() > PREVIEW else shown
