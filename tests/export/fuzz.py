"""Mutated model files, by the thousand: each is loaded or refused, and what loads is run.

    python -m tests.export.fuzz --files 100000            a run; every failure is printed
    python -m tests.export.fuzz --seed 3 --only 4711      one file once more, in this process

A file fails if loading it does anything but give a model or a FormatError: another exception, a
crash, more than SECONDS of the processor, or MEMORY bytes more than the file has. A
program that loads is run on arguments of its own types; it may raise what it likes, or go on for
ever, but the process must live. Files are tried in child processes, so that a crash is one failure
and no more.
"""

import argparse
import contextlib
import copy
import hashlib
import json
import math
import mmap
import os
import random
import resource
import signal
import sys
import tempfile
import warnings
from pathlib import Path

import torch

import stator
from stator import InputSpec
from stator.api.translated import TranslatedLayer
from stator.errors import FormatError
from stator.execute.interpreter import run
from stator.export.saved_model import read_model, write_model
from stator.program.types import ListType, NumberType, OptionalType, TensorType
from tests.program.zoo import everything, linear

DATA = Path(__file__).parents[1] / "data"
SECONDS, RUN_SECONDS, WALL = 2, 1, 60
MEMORY = 200 * 10**6
ADDRESS_SPACE = 2**32  # bytes more than a child has at its start
BATCH = 1000  # files for one child
CHUNK = 2**22

NUMBERS = (
    0, 1, -1, 2, 3, 7, 63, 64, 65, 100, 101, 255, 2**31 - 1, 2**31, 2**32, 2**53, 2**62, 2**63 - 1,
    2**63, -(2**63), 2**64, 10**30, 0.0, -0.5, 1e308, 5e-324,
)  # fmt: skip
TEXTS = (
    "", "x", "forward", "0", "float32", "int64", "complex128", "cpu", "cuda:0", "meta", "inf",
    "nan", "..", "../x", "a.b", ".filling.0", "__class__", "os:system", "builtins:eval", "é\x00",
    "F32", "I64", "parameter", "constant", "stator::if", "stator::while", "stator::call", "x" * 300,
    ".".join("a" * 200),
)  # fmt: skip
OPS = (
    "aten::add.Tensor", "aten::as_strided", "aten::view", "aten::reshape", "aten::index_select",
    "aten::gather", "aten::embedding", "aten::linear", "aten::matmul", "aten::cat", "aten::expand",
    "aten::copy_", "aten::resize_", "aten::full", "aten::empty.memory_format", "aten::arange",
    "aten::select.int", "aten::slice.Tensor", "aten::unfold", "aten::scatter.src", "aten::sum",
    "aten::permute", "aten::masked_select", "aten::index.Tensor", "aten::index_put_", "aten::where",
    "aten::split.Tensor", "aten::topk", "aten::sort", "aten::repeat", "aten::pad", "aten::conv2d",
    "aten::batch_norm", "aten::layer_norm", "aten::softmax.int", "aten::item", "aten::to.dtype",
    "aten::from_file", "aten::set_", "aten::save", "aten::_reshape_alias", "prim::Print",
    "c10d::barrier", "quantized::linear", "os::system", "aten::", "::", "aten::add.", "stator::no",
    "stator::add", "stator::list_repeat", "stator::list_slice", "stator::raise",
    "stator::select", "stator::pow",
    "stator::format", "stator::print", "stator::list_get", "stator::try", "stator::demand",
)  # fmt: skip
DEEP = json.loads("[" * 150 + "]" * 150)


class Model:
    """The bytes of a model's two files."""

    def __init__(self, text, weights):
        self.text, self.weights = text, weights

    @classmethod
    def at(cls, stem):
        return cls(Path(f"{stem}.stator").read_bytes(), Path(f"{stem}.safetensors").read_bytes())

    def write(self, stem):
        Path(f"{stem}.stator").write_bytes(self.text)
        Path(f"{stem}.safetensors").write_bytes(self.weights)

    @property
    def size(self):
        return len(self.text) + len(self.weights)


def careful(x):
    """Handlers, texts, lists, prints and casts."""
    kept, note = [], ""
    for value in x:
        try:
            if value < 0:
                raise ValueError(f"{value.item():.2f} is below zero")
            kept.append(value * 2)
        except (ValueError, KeyError) as error:
            note = note + str(error)
    print(len(kept), note)
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        return kept, note, x[:, None] @ x[None]


def depth(n):
    """A function that calls itself."""
    return 0 if n <= 1 else 1 + depth(n // 2)


def models(folder):
    """What is mutated: programs of every form, and the models of every version."""
    tensors = {"fc.weight": torch.ones(4, 3), "fc.bias": torch.ones(4)}
    write_model(folder / "linear", {"forward": linear()}, tensors)
    tensors = {"table": torch.ones(2, dtype=torch.complex128), "steps": torch.tensor(3)}
    properties = {"classes": ["a", "b"], "deep": {"scale": 0.5, "none": None}}
    write_model(folder / "everything", {"forward": everything()}, tensors, properties=properties)
    stator.save(careful, folder / "careful", [InputSpec([None])])
    stator.save(depth, folder / "depth", [InputSpec([], "int64")])
    made = [folder / name for name in ("linear", "everything", "careful", "depth")]
    kept = [str(file).removesuffix(".stator") for file in sorted(DATA.glob("*/*.stator"))]
    return [Model.at(stem) for stem in (*made, *kept)]


# ---- mutations of bytes


def mutated_bytes(data, rng):
    data = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 8))):
        at = rng.randrange(len(data) + 1)
        length = min(rng.choice((1, 2, 8, 64, 1000)), len(data) - at)
        match rng.randrange(6):
            case 0 if length:
                data[at] ^= 1 << rng.randrange(8)
            case 1:
                del data[at:]
            case 2:
                del data[at : at + length]
            case 3:
                data[at:at] = data[at : at + length] * rng.choice((1, 3))
            case 4:
                data[at : at + length] = rng.randbytes(length)
            case _:
                other = rng.randrange(len(data) + 1)
                data[at : at + length] = data[other : other + length]
    return bytes(data)


# ---- mutations of JSON


def places(data):
    """(holder, key) of every part of `data`."""
    found, open_ = [], [data]
    while open_:
        holder = open_.pop()
        keys = range(len(holder)) if isinstance(holder, list) else list(holder)
        for key in keys:
            found.append((holder, key))
            if isinstance(holder[key], dict | list):
                open_.append(holder[key])
    return found


def mutated_json(data, rng):
    data = copy.deepcopy(data)
    for _ in range(rng.choice((1, 1, 1, 2, 5))):
        spots = places(data)
        if not 0 < len(spots) < 10_000:
            return data
        holder, key = rng.choice(spots)
        if rng.random() < 0.15:
            named = [spot for spot in spots if spot[1] == "name" and "::" in str(spot[0]["name"])]
            if named:
                holder, key = rng.choice(named)
                holder[key] = rng.choice(OPS)
                continue
        change(holder, key, spots, rng)
    return data


def change(holder, key, spots, rng):
    other, other_key = rng.choice(spots)
    match rng.randrange(10):
        case 0:
            del holder[key]
        case 1:
            holder[key] = rng.choice(NUMBERS)
        case 2:
            holder[key] = rng.choice(TEXTS)
        case 3:
            odd = (None, True, False, [], {}, DEEP, {"value": "x"})
            holder[key] = copy.deepcopy(rng.choice(odd))
        case 4:
            holder[key] = copy.deepcopy(other[other_key])
        case 5:
            one, two = copy.deepcopy(holder[key]), copy.deepcopy(other[other_key])
            holder[key], other[other_key] = two, one  # copies: one may be inside the other
        case 6 if isinstance(holder, dict):
            holder[rng.choice((*TEXTS, other_key))] = holder.pop(key)
        case 7 if isinstance(holder, list):
            times = rng.choice((1, 2, 50))
            holder[key:key] = [copy.deepcopy(holder[key]) for _ in range(times)]
        case 8:
            holder[key] = [holder[key]] if rng.random() < 0.5 else {"x": holder[key]}
        case _:
            holder[key] = nudged(holder[key], rng)


def nudged(part, rng):
    if type(part) is int:
        return part + rng.choice((-1, 1, 64, -64))
    if isinstance(part, str) and part:
        at = rng.randrange(len(part))
        return part[:at] + rng.choice("xX0.:_") + part[at + 1 :]
    if isinstance(part, list):
        return rng.sample(part, len(part))
    return part


# ---- whole files


def sealed(text):
    """`text` with a right digest in its head, if it has a head."""
    end = text.find(b'",', 60) + 2
    digest = hashlib.sha256(text[end:]).hexdigest().encode()
    start = text.find(b'"digest":"')
    return text[: start + 10] + digest + b'",' + text[end:] if 0 <= start < 60 else text


def dumped(data):
    rest = {key: part for key, part in data.items() if key not in ("format", "version", "digest")}
    version = data.get("version")
    version = version if type(version) is int and 0 <= version < 10**9 else 2
    head = f'{{"format":"stator","version":{version},"digest":"{"0" * 64}",'
    return sealed((head + json.dumps(rest)[1:]).encode("utf-8", "surrogatepass"))


def with_weights(text, weights, rng):
    """A text that names the digests of these weights."""
    data = json.loads(text)
    if data["version"] == 1:
        data["weights"] = {"bytes": len(weights), "sha256": hashlib.sha256(weights).hexdigest()}
    else:
        chunk = rng.choice((CHUNK, 64, 1000))
        data["weights"] = {
            "bytes": len(weights),
            "chunk": chunk,
            "sha256": [
                hashlib.sha256(weights[at : at + chunk]).hexdigest()
                for at in range(0, len(weights), chunk)
            ],
        }
    return dumped(data)


def mutated_header(weights, rng):
    length = int.from_bytes(weights[:8], "little")
    header = mutated_json(json.loads(weights[8 : 8 + length]), rng)
    text = json.dumps(header).encode("utf-8", "surrogatepass")
    claimed = rng.choice((len(text), len(text), len(text), rng.choice(NUMBERS[:23])))
    claimed = int(claimed) % 2**64
    return claimed.to_bytes(8, "little") + text + weights[8 + length :]


def mutated(pool, rng):
    """One hostile model."""
    model, other = rng.choice(pool), rng.choice(pool)
    match rng.randrange(10):
        case 0:
            return Model(mutated_bytes(model.text, rng), model.weights)
        case 1:
            return Model(model.text, mutated_bytes(model.weights, rng))
        case 2:
            return Model(sealed(mutated_bytes(model.text, rng)), model.weights)
        case 3:
            return Model(model.text, other.weights)
        case 4:
            weights = mutated_bytes(model.weights, rng)
            return Model(with_weights(model.text, weights, rng), weights)
        case 5:
            weights = rng.choice((other.weights, mutated_header(model.weights, rng)))
            return Model(with_weights(model.text, weights, rng), weights)
        case _:
            return Model(dumped(mutated_json(json.loads(model.text), rng)), model.weights)


# ---- trying one


class TooLong(BaseException):
    """The alarm rang; no `except Exception` may catch it."""


def ring(number, _):
    raise TooLong("of the processor" if number == signal.SIGPROF else "by the clock, times WALL")


def listen():
    signal.signal(signal.SIGPROF, ring)
    signal.signal(signal.SIGALRM, ring)


@contextlib.contextmanager
def alarm(seconds):
    """`seconds` of the processor's time; much longer on the wall, where others may be at work."""
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, seconds * WALL)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)


def try_model(model, stem):
    """(what became of it, what is wrong about that)."""
    model.write(stem)
    reset_peak()
    before, saved, layer = peak_memory(), None, None
    try:
        with alarm(SECONDS):
            saved = read_model(stem)
            layer = TranslatedLayer(saved)
    except FormatError as error:
        outcome, fault = "refused", None
        if str(stem) not in str(error):
            fault = f"the file is not named: {error}"
    except TooLong as error:
        return "hung", f"loading takes more than {SECONDS} s {error}"
    except BaseException as error:  # noqa: BLE001 (this is what is looked for)
        return "failed", f"{type(error).__name__}: {error}"
    else:
        outcome, fault = "loaded", None
    taken = peak_memory() - before
    if taken > model.size + MEMORY:
        fault = f"loading takes {taken} bytes of memory, the files have {model.size}"
    if outcome == "loaded" and fault is None:
        outcome = run_all(saved, layer)
    return outcome, fault


def reset_peak():
    """Forget how much memory the process has had at most: an earlier run may have used much."""
    Path("/proc/self/clear_refs").write_text("5")


def peak_memory():
    """The most bytes that the process has had since `reset_peak`."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


def run_all(saved, layer):
    """Runs every program."""
    with open(os.devnull, "w") as nothing, contextlib.redirect_stdout(nothing):
        for program in saved.programs.values():
            try:
                with alarm(RUN_SECONDS), warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    given = [argument(value.type) for value in program.inputs]
                    run(program, given, saved.tensors)
                    layer.program()
            except TooLong:
                return "endless"
            except Exception:  # noqa: BLE001 (what a program raises is its own affair)
                continue
    return "loaded"


def argument(kind):
    """Something of that type, small."""
    if isinstance(kind, TensorType):
        sizes = [min(size, 64) if isinstance(size, int) else 3 for size in kind.shape]
        if math.prod(sizes) > 10**6:
            raise ValueError("too large to try")
        return torch.ones(sizes, dtype=getattr(torch, kind.dtype), device="cpu")
    if isinstance(kind, NumberType):
        return {"bool": True, "int": 3, "float": 0.5, "complex": 1j}[kind.kind]
    if isinstance(kind, OptionalType):
        return None
    return [argument(kind.element)] * 2 if isinstance(kind, ListType) else "text"


# ---- many


def rng_of(seed, index):
    return random.Random(f"{seed}:{index}")


def child(pool, seed, indexes, folder, shared, report):
    """Tries files one after the other; `shared` always says which one is being tried."""
    torch.set_num_threads(1)
    listen()
    used = int(Path("/proc/self/statm").read_text().split()[0]) * mmap.PAGESIZE
    resource.setrlimit(resource.RLIMIT_AS, (used + ADDRESS_SPACE,) * 2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    counts = {}
    for index in indexes:
        shared[:8] = index.to_bytes(8, "little")
        outcome, fault = try_model(mutated(pool, rng_of(seed, index)), folder / "m")
        counts[outcome] = counts.get(outcome, 0) + 1
        if fault:
            report.write(json.dumps({"index": index, "fault": fault}) + "\n")
    report.write(json.dumps(counts) + "\n")
    report.flush()


def fuzz(files, seed, folder):
    """(outcomes counted, faults by index) of a run over that many files."""
    torch.set_num_threads(1)  # before the children are made: threads do not survive a fork
    pool, shared = models(folder), mmap.mmap(-1, 8)
    counts, faults, start = {}, {}, 0
    while start < files:
        stop = min(start + BATCH, files)
        path = folder / "report"
        process = os.fork()
        if process == 0:
            status = 1
            try:
                with path.open("w") as report:
                    child(pool, seed, range(start, stop), folder, shared, report)
                status = 0
            finally:
                os._exit(status)
        _, status = os.waitpid(process, 0)
        for line in path.read_text().splitlines():
            part = json.loads(line)
            if "index" in part:
                faults[part["index"]] = part["fault"]
            else:
                counts = {key: counts.get(key, 0) + part.get(key, 0) for key in {*counts, *part}}
        if status:
            index = int.from_bytes(shared[:8], "little")
            number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
            faults[index] = f"the process died (signal {number})"
            stop = index + 1
        start = stop
        if sys.stderr.isatty():
            print(f"\r{start} files, {len(faults)} faults", end="", file=sys.stderr, flush=True)
    return counts, faults


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int, help="try this file alone, in this process")
    parser.add_argument("--keep", type=Path, help="where to write the file of --only")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if given.only is not None:
            listen()
            model = mutated(models(folder), rng_of(given.seed, given.only))
            if given.keep:
                model.write(given.keep)
            print(*try_model(model, folder / "m"))
            return
        counts, faults = fuzz(given.files, given.seed, folder)
    print(", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items())))
    for index, fault in sorted(faults.items()):
        print(f"file {index} of seed {given.seed}: {fault}")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
