"""Scores torch's own capture tools, or those of a plugin; each program runs in a child process.

    python conformance/run_peers.py [--peers a,b] [--groups g,h] [--cases n,m] [--out FILE]
    python conformance/run_peers.py --plugin my_plugin.py --out FILE

status  ok     every input gives eager's result
        wrong  a value, dtype, shape or structure differs, or an error is missing: the worst
        error  an exception at capture or at run, a crash, or no result within the time limit
grad    ok, wrong, error, or na where gradients are not compared

The capturing tool sees the first input; all inputs are checked. A peer whose name begins with
`onnx` is compared leaf by leaf, because an ONNX model's outputs have no structure. The ONNX peers
need `onnx`, `onnxruntime` and `onnxscript`.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import json
import os
import runpy
import select
import signal
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import torch
from corpuslib import (
    Call,
    Case,
    clone_inputs,
    compare,
    compare_gradients,
    leaves,
    load_cases,
    run_callable,
    run_eager,
)

Capture = Callable[[Case, Any], tuple[Callable[..., Any], Any]]
Finding = tuple[str, int, str]  # the status, the number of the input, the reason

RECURSION_LIMIT = 3000
# importing these before forking saves each child the time
PRELOADED = ("torch._dynamo", "torch.export", "torch.onnx")
TELLING = ("Could not guard", "data-dependent", "Data-dependent", "Unsupported", "not supported")


class Wrapped(torch.nn.Module):
    """A function as a module: torch.export and the ONNX exporter accept nothing else."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *arguments: Any) -> Any:
        """Call the function."""
        return self.function(*arguments)


def as_module(case: Case, target: Any) -> torch.nn.Module:
    """The target itself, or the function as a module."""
    return target if case.is_module else Wrapped(target)


def dynamic_shapes(case: Case) -> Any:
    """What torch.export calls dynamic for the sizes that vary."""
    if case.dynamic is None:
        return None
    auto = torch.export.Dim.AUTO
    shapes = tuple(None if names is None else dict.fromkeys(names, auto) for names in case.dynamic)
    return shapes if case.is_module else (shapes,)


def capture_trace(case: Case, target: Any) -> tuple[Callable[..., Any], Any]:
    """torch.jit.trace."""
    arguments = clone_inputs(case.inputs[0])
    traced = torch.jit.trace(target, arguments, check_trace=False, strict=False)
    return traced, traced


def capture_script(_case: Case, target: Any) -> tuple[Callable[..., Any], Any]:
    """torch.jit.script."""
    scripted = torch.jit.script(target)
    return scripted, scripted


def capture_compile(_case: Case, target: Any) -> tuple[Callable[..., Any], Any]:
    """torch.compile(fullgraph=True), with every option that lets data-dependent values in."""
    dynamo = importlib.import_module("torch._dynamo")
    dynamo.reset()
    dynamo.config.capture_scalar_outputs = True
    dynamo.config.capture_dynamic_output_shape_ops = True
    return torch.compile(target, fullgraph=True, backend="eager"), target


def capture_export(case: Case, target: Any, strict: bool = False) -> tuple[Callable[..., Any], Any]:
    """torch.export, non-strict unless said otherwise."""
    exported = torch.export.export(
        as_module(case, target),
        clone_inputs(case.inputs[0]),
        dynamic_shapes=dynamic_shapes(case),
        strict=strict,
    )
    module = exported.module()
    return module, module


def capture_export_strict(case: Case, target: Any) -> tuple[Callable[..., Any], Any]:
    """torch.export, strict."""
    return capture_export(case, target, strict=True)


def capture_onnx_dynamo(case: Case, target: Any) -> tuple[Callable[..., Any], Any]:
    """torch.onnx through torch.export, run by ONNX Runtime."""
    program = torch.onnx.export(
        as_module(case, target),
        clone_inputs(case.inputs[0]),
        dynamo=True,
        verbose=False,
        optimize=True,
        dynamic_shapes=dynamic_shapes(case),
    )
    assert program is not None
    return onnx_session(program.model_proto.SerializeToString()), None


def capture_onnx_script(case: Case, target: Any) -> tuple[Callable[..., Any], Any]:
    """torch.jit.script through the older ONNX exporter, run by ONNX Runtime."""
    buffer = io.BytesIO()
    arguments = clone_inputs(case.inputs[0])
    names = [f"in{k}" for k in range(len(leaves(arguments)))]
    axes = None
    if case.dynamic is not None and len(names) == len(arguments):
        axes = {name: dict(d) for name, d in zip(names, case.dynamic, strict=True) if d}
    torch.onnx.export(
        torch.jit.script(target),
        arguments,
        buffer,
        dynamo=False,
        opset_version=18,
        input_names=names,
        dynamic_axes=axes,
    )
    return onnx_session(buffer.getvalue()), None


def onnx_session(model: bytes) -> Callable[..., Any]:
    """A call of a model in ONNX Runtime, with one thread."""
    runtime = importlib.import_module("onnxruntime")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    session = runtime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    names = [one.name for one in session.get_inputs()]

    def run(*arguments: Any) -> Any:
        flat = leaves(arguments)
        if len(names) != len(flat):  # inputs that are not used may have been dropped
            raise RuntimeError(f"model has {len(names)} inputs, the call has {len(flat)}")
        feed = {name: leaf.detach().numpy() for name, leaf in zip(names, flat, strict=True)}
        return session.run(None, feed)

    return run


CAP: dict[str, Capture] = {
    "trace": capture_trace,
    "script": capture_script,
    "compile": capture_compile,
    "export": capture_export,
    "export_strict": capture_export_strict,
    "onnx_dynamo": capture_onnx_dynamo,
    "onnx_script": capture_onnx_script,
}
PEERS = tuple(CAP)


def first_line(error: BaseException) -> str:
    """The class of an error and the most telling line of its message."""
    lines = [line.strip() for line in str(error).strip().splitlines() if line.strip()]
    telling = [line for line in lines if any(words in line for words in TELLING)]
    chosen = next(iter([*telling, *lines]), "")
    if chosen.startswith(("Failed to export", "Failed to convert", "Failed to decompose")):
        chosen = next((line for line in lines if "class '" in line), chosen)
    return f"{type(error).__name__}: {chosen}"[:300]


def score(case: Case, peer: str) -> dict[str, Any]:
    """Capture one program with one peer, run every input, compare with eager."""
    flat = peer.startswith("onnx")
    gradients = case.train and not flat and peer != "bridge"  # those compute no gradients
    expected = run_eager(case, gradients=gradients)
    target = case.make()
    initial = {k: v.clone() for k, v in target.state_dict().items()} if case.is_module else {}
    call, owner = CAP[peer](case, target)
    if case.stateful and isinstance(owner, torch.nn.Module):
        restore(owner, initial)
    found = run_callable(case, call, owner, gradients=gradients)
    bad = first_difference(expected, found, flat)
    bad_gradient = first_gradient(expected, found) if gradients and bad is None else None
    result: dict[str, Any] = {"status": "ok", "grad": "na", "stage": "run"}
    if gradients:
        result["grad"] = bad[0] if bad else "wrong" if bad_gradient else "ok"
    if (finding := bad or bad_gradient) is not None:
        result.update(zip(("status", "input", "why"), finding, strict=True))
    return result


def restore(owner: torch.nn.Module, initial: dict[str, torch.Tensor]) -> None:
    """Undo what the capture did to buffers: a tool that runs the module advances them."""
    with contextlib.suppress(RuntimeError):  # a tool that renamed them is judged as it is
        owner.load_state_dict(initial)


def first_difference(expected: list[Call], found: list[Call], flat: bool) -> Finding | None:
    """The first wrong result, or else the first error that eager does not raise."""
    wrong: list[Finding] = []
    errors: list[Finding] = []
    for k, (eager, other) in enumerate(zip(expected, found, strict=True)):
        if eager.error is not None:
            if other.error is None:
                name = type(eager.error).__name__
                wrong.append(("wrong", k, f"eager raises {name}, this does not"))
        elif other.error is not None:
            errors.append(("error", k, first_line(other.error)))
        elif (reason := compare(eager.output, other.output, flat=flat)) is not None:
            wrong.append(("wrong", k, reason))
    return next(iter([*wrong, *errors]), None)


def first_gradient(expected: list[Call], found: list[Call]) -> Finding | None:
    """The first gradient that differs."""
    for k, (eager, other) in enumerate(zip(expected, found, strict=True)):
        if eager.error is None and (reason := compare_gradients(eager, other)) is not None:
            return "wrong", k, reason
    return None


def child(case: Case, peer: str, pipe: int) -> NoReturn:
    """Score in a forked child, and write the result to a pipe."""
    try:
        output = os.open(
            f".out.{os.getpid()}" if case.stdout else os.devnull,
            os.O_RDWR | os.O_CREAT | os.O_TRUNC if case.stdout else os.O_WRONLY,
        )
        os.dup2(output, 1)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        sys.setrecursionlimit(RECURSION_LIMIT)
        torch.set_num_threads(1)
        warnings.simplefilter("ignore")
        started = time.monotonic()
        try:
            result = score(case, peer)
        except BaseException as error:  # noqa: BLE001  (whatever a tool raises is its result)
            is_compared = case.train and peer != "bridge" and not peer.startswith("onnx")
            grad = "error" if is_compared else "na"
            why = first_line(error)
            result = {"status": "error", "grad": grad, "stage": "capture", "why": why}
        result["sec"] = round(time.monotonic() - started, 2)
        if case.stdout:
            result["stdout_tags"] = printed_tags(case)
        os.write(pipe, json.dumps(result).encode())
    finally:
        os._exit(0)


def printed_tags(case: Case) -> int:
    """How often the peer printed; eager has printed once for each input in the same file."""
    sys.stdout.flush()
    os.fsync(1)
    file = Path(f".out.{os.getpid()}")
    tags = file.read_text(errors="replace").count("[tag]") - len(case.inputs)
    file.unlink()
    return tags


def run_one(case: Case, peer: str, limit: float) -> dict[str, Any]:
    """Score one program with one peer in a child that may crash or hang."""
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(reading)
        child(case, peer, writing)
    os.close(writing)
    started = time.monotonic()
    data = b""
    while True:
        left = limit - (time.monotonic() - started)
        if left <= 0:
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
            os.close(reading)
            why = f"no result in {limit} s"
            return {"status": "error", "grad": "na", "stage": "hang", "why": why, "sec": limit}
        if select.select([reading], [], [], min(left, 1.0))[0]:
            chunk = os.read(reading, 65536)
            if not chunk:
                break
            data += chunk
    os.close(reading)
    _, status = os.waitpid(process, 0)
    if data:
        result: dict[str, Any] = json.loads(data)
        return result
    why, seconds = f"process died, wait status {status}", round(time.monotonic() - started, 2)
    return {"status": "error", "grad": "na", "stage": "crash", "why": why, "sec": seconds}


def parse_arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--peers", help=f"of {','.join(PEERS)}, or of the plugin; default: all")
    parser.add_argument("--groups")
    parser.add_argument("--cases")
    parser.add_argument("--out", type=Path, default=Path("results.json"))
    parser.add_argument("--limit", type=float, default=60, help="seconds for one program")
    parser.add_argument("--plugin", help="a file with PEERS = {name: capture(case, target)}")
    return parser.parse_args()


def main() -> None:
    """Score every program with every peer; results are added to the file as they come."""
    arguments = parse_arguments()
    peers = PEERS
    if arguments.plugin:
        plugged = runpy.run_path(arguments.plugin)["PEERS"]
        CAP.update(plugged)
        peers = tuple(plugged)
    if arguments.peers:
        peers = tuple(arguments.peers.split(","))
    cases = load_cases(arguments.groups.split(",") if arguments.groups else None)
    if arguments.cases:
        cases = [case for case in cases if case.name in arguments.cases.split(",")]
    for module in PRELOADED:
        importlib.import_module(module)
    results = json.loads(arguments.out.read_text()) if arguments.out.exists() else {}
    for number, case in enumerate(cases, 1):
        record = results.setdefault(case.name, {"group": case.group, "peers": {}})
        for peer in peers:
            record["peers"][peer] = run_one(case, peer, arguments.limit)
        told = " ".join(f"{peer}={record['peers'][peer]['status']}" for peer in peers)
        print(f"[{number}/{len(cases)}] {case.group}/{case.name}: {told}", flush=True)
        arguments.out.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
