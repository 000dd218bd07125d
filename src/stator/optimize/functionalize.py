"""functionalize: a program without in-place ops, for targets that have no memory to write to.

    %v = aten::select.int(%x, 0, 1)
    aten::add_.Tensor(%v, 1)          ->   %n = aten::add.Tensor(%v, 1)
    return %x                              %y = aten::select_scatter(%x, %n, 0, 1)
                                           return %y

A branch or a loop that writes to memory from outside gives what it holds afterwards as a further
result. Inputs, parameters and buffers that the program writes become further outputs. Gradients
are gone: hooks and custom gradients are dropped, and modes of autograd with them.

Memory is followed exactly, or the program is refused: see `memory_map`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch

from stator.errors import ExportError
from stator.location import Location
from stator.optimize.alias import Aliases
from stator.optimize.memory_map import MemoryContents, MemoryMap, Root, TensorPlace
from stator.optimize.substitution import substituted
from stator.optimize.views import ViewStep, is_certain_view, may_alias
from stator.program.ir import Arg, Block, Op, Value, operands_of, ops_in, values_in, with_inner_ops
from stator.program.opset.queries import kind_of, written_by
from stator.program.opset.torch_raising import argument
from stator.program.program import Program
from stator.program.registry import constant_of, resolve, schema_of
from stator.program.types import ListType, NumberType, TensorType, Type
from stator.program.typing_rules import present
from stator.program.verifier import verify

DROPPED = ("stator::set_grad", "stator::set_inference", "stator::hook")
# ops that write their running statistics, and the argument that turns it on
STATISTICS_OF = {"aten::batch_norm": (5, "training"), "aten::instance_norm": (5, "use_input_stats")}
VIEWS_THAT_WRITE = ("aten::detach_",)  # declared as a write, but the values stay


@dataclass(frozen=True)
class Functional:
    """A program without effects on memory; `written` are its inputs and stored tensors that change.

    The new contents of `written[k]` are the last outputs of the program, in order.
    """

    program: Program
    written: tuple[Value, ...]


def functionalize(program: Program) -> Functional:
    """`program` without in-place ops."""
    for name, function in program.functions.items():
        if any(_writes(op) for op in ops_in(function)):
            raise ExportError(f"the function {name} writes to tensors in place")
    return _Functionalizer(program).run()


def _writes(op: Op) -> bool:
    if op.name in VIEWS_THAT_WRITE or not written_by(op):
        return False
    return op.name not in STATISTICS_OF or argument(op, *STATISTICS_OF[op.name]) is not False


class _Functionalizer:
    """Rebuilds the blocks of one program."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.aliases = Aliases(program)
        self.memory = MemoryMap()
        self.known: dict[Value, Arg] = {}
        self.ops: list[Op] = []  # of the block that is being built
        self.depth = 0
        self.count = 0
        self.outside: dict[Value, Root] = {}
        self.taken = {value.name for value in program.values()}

    def run(self) -> Functional:
        program = self.program
        for value in (*program.inputs, *(stored.value for stored in program.stored)):
            if self.is_tracked(value):
                self.outside[value] = self.memory.add_root(value, value, self.depth)
        body = self.block(program.body)
        changed = [
            value for value, root in self.outside.items() if self.memory.contents.version[root]
        ]
        for value, root in self.outside.items():
            if root in self.memory.contents.stale:  # the caller must see what it holds
                self.memory.read(value, self, None)
        extra = tuple(self.memory.contents.current[self.outside[value]] for value in changed)
        body = Block(body.inputs, body.ops, body.outputs + extra)
        functions = {name: self.function(block) for name, block in program.functions.items()}
        done = replace(program, body=body, functions=functions)
        return Functional(verify(done), tuple(changed))

    def function(self, block: Block) -> Block:
        """A function, which writes nothing."""
        return self.block(block)

    def is_tracked(self, value: Value) -> bool:
        """Does some op write where the tensor `value` may be, or an item of the list `value`?"""
        has_memory = isinstance(present(value.type), TensorType | ListType)
        return has_memory and self.aliases.is_written(value)

    # ---- making ops

    def new_value(self, kind: Type) -> Value:
        """A value with a name that no other has."""
        self.count += 1
        while f"w{self.count}" in self.taken:
            self.count += 1
        self.taken.add(f"w{self.count}")
        return Value(f"w{self.count}", kind)

    def op(self, name: str, args: tuple[Arg, ...], kind: Type, place: Location | None) -> Value:
        """The result of one more op in the block that is being built."""
        result = self.new_value(kind)
        self.ops.append(Op(name, args, {}, (result,), place=place))
        return result

    def view(self, step: ViewStep, name: str, args: tuple[Arg, ...]) -> Value:
        """A view op once more, on other contents."""
        results = tuple(self.new_value(value.type) for value in step.op.results)
        self.ops.append(replace(step.op, name=name, args=args, results=results))
        return results[step.index]

    # ---- reading arguments

    def read(self, arg: Arg, at: Location | None) -> Arg:
        """`arg` as it is now, for an op of the new program."""
        if isinstance(arg, tuple):
            return tuple(self.read(item, at) for item in arg)
        if not isinstance(arg, Value):
            return arg
        if arg in self.memory.places:
            return self.memory.read(arg, self, at)
        return substituted(arg, self.known)

    def read_all(self, args: Sequence[Arg], at: Location | None) -> tuple[Arg, ...]:
        """Each of `args`, read."""
        return tuple(self.read(arg, at) for arg in args)

    # ---- blocks and ops

    def block(self, block: Block) -> Block:
        """`block` without writes; what it yields is read at its end."""
        outer, self.ops = self.ops, []
        try:
            for op in block.ops:
                self.add(op)
            return Block(block.inputs, self.ops, self.read_all(block.outputs, None))
        finally:
            self.ops = outer

    def add(self, op: Op) -> None:
        """One op of the old program."""
        kind = kind_of(op)
        if op.name in DROPPED:
            return
        if op.name == "stator::custom_gradient":
            results = op.args[0]
            assert isinstance(results, tuple)
            self.known.update(zip(op.results, self.read_all(results, op.place), strict=True))
        elif kind == "branch":
            self.add_if(op)
        elif kind == "loop":
            self.add_while(op)
        elif op.blocks and any(_writes(inner) for inner in with_inner_ops([op])):
            raise ExportError(f"{op.name} has a block that writes to tensors in place", at=op.place)
        elif _writes(op):
            self.add_write(op)
        else:
            self.add_plain(op)

    def add_plain(self, op: Op) -> None:
        """An op that writes nothing."""
        args = self.read_all(op.args, op.place)
        attributes = {name: self.read(arg, op.place) for name, arg in op.attributes.items()}
        name = "aten::alias" if op.name in VIEWS_THAT_WRITE else op.name
        blocks = tuple(self.block(inner) for inner in op.blocks)
        results = tuple(Value(v.name, v.type) if self.is_tracked(v) else v for v in op.results)
        new = replace(
            op, name=name, args=args, attributes=attributes, results=results, blocks=blocks
        )
        self.ops.append(new)
        for index, (old, now) in enumerate(zip(op.results, results, strict=True)):
            if self.is_tracked(old):
                self.locate(op, index, old, now, new)

    def locate(self, op: Op, index: int, old: Value, now: Value, new: Op) -> None:
        """Where the result `old` of an op is."""
        sources = [value for value in operands_of(op)
                   if value in self.memory.places]  # fmt: skip
        source = next(iter(sources), None)
        kind = source.type if source is not None and op.args[:1] == (source,) else None
        if is_certain_view(op) and source is not None and isinstance(kind, TensorType):
            place = self.memory.places[source]
            step = ViewStep(new, kind, index)
            certain = place.certain
            version = self.memory.contents.version[place.root] if certain else place.version
            path = (*place.path, step)
            self.memory.note(old, TensorPlace(place.root, path, certain, version), now)
        elif may_alias(op) and len(sources) == 1 and not _is_list(op):
            place = self.memory.places[sources[0]]
            version = self.memory.contents.version[place.root] if place.certain else place.version
            self.memory.note(old, TensorPlace(place.root, (), False, version), now)
        else:
            root = self.memory.add_root(old, now, self.depth)
            for value in sources if may_alias(op) else ():
                root.link(self.memory.places[value].root)

    def add_write(self, op: Op) -> None:
        """An in-place op, as the op of the same name without the underscore."""
        if op.name in STATISTICS_OF:
            self.add_batch_norm(op) if op.name == "aten::batch_norm" else self.add_instance_norm(op)
            return
        target = op.args[0] if op.args else None
        if not isinstance(target, Value) or written_by(op) != (target,):
            raise ExportError(f"{op.name} writes to more than its first argument",
                              at=op.place)  # fmt: skip
        place = self.memory.places.get(target)
        if place is None or not isinstance(target.type, TensorType) or place.root.is_in_list():
            raise ExportError(f"{op.name} writes to a tensor that may be absent, or in a list",
                              at=op.place)  # fmt: skip
        args = self.read_all(op.args, op.place)
        attributes = {name: self.read(arg, op.place) for name, arg in op.attributes.items()}
        new = self.pure(op, args, attributes)
        self.memory.write(target, new, self, op)
        for result in op.results:
            self.memory.note(result, self.memory.places[target], new)

    def add_batch_norm(self, op: Op) -> None:
        """Batch norm that writes its running statistics: they are results."""
        args = self.read_all(op.args[:8], op.place)  # without `cudnn_enabled`
        statistics = written_by(op)
        kinds = [op.results[0].type, *(value.type for value in statistics * 2)]
        normalized, _, _, *new = results = tuple(map(self.new_value, kinds))
        name = "aten::_native_batch_norm_legit_functional"
        self.ops.append(Op(name, args, {}, results, place=op.place))
        for value, content in zip(statistics, new, strict=True):
            self.memory.write(value, content, self, op)
        self.memory.add_root(op.results[0], normalized, self.depth)

    def add_instance_norm(self, op: Op) -> None:
        """Instance norm that writes its running statistics: the means of those of the rows."""
        given, weight, bias, *_ = args = self.read_all(op.args, op.place)
        statistics = written_by(op)
        kind, (momentum, *_) = op.results[0].type, args[6:]
        assert isinstance(given, Value)
        assert isinstance(kind, TensorType)
        if not isinstance(momentum, float) or any(v.type.dtype != kind.dtype for v in statistics):  # type: ignore[union-attr]
            raise ExportError(f"{op.name} with statistics of another dtype", at=op.place)
        if isinstance(weight, Value) and not isinstance(kind.shape[0], int):
            self.refuse_no_rows(given, op.place)
        normalized = self.op(op.name, (given, weight, bias, None, None, *args[5:]), kind, op.place)
        dims = tuple(range(2, len(kind.shape)))
        of_rows = [self.new_value(replace(kind, shape=kind.shape[:2])) for _ in range(2)]
        self.ops.append(Op("aten::var_mean.correction", (given, dims), {"correction": 1},
                           tuple(of_rows), place=op.place))  # fmt: skip
        for value, new in zip(statistics, reversed(of_rows), strict=True):
            of_all = self.op("aten::mean.dim", (new, (0,)), value.type, op.place)
            part = self.op("aten::mul.Tensor", (of_all, momentum), value.type, op.place)
            before = self.read(value, op.place)
            kept = self.op("aten::mul.Tensor", (before, 1 - momentum), value.type, op.place)
            content = self.op("aten::add.Tensor", (kept, part), value.type, op.place)
            self.memory.write(value, content, self, op)
        self.memory.add_root(op.results[0], normalized, self.depth)

    def refuse_no_rows(self, given: Value, at: Location | None) -> None:
        """The error that torch raises for an instance norm of no rows."""
        count = self.op("aten::sym_size.int", (given, 0), NumberType("int"), at)
        is_empty = self.op("stator::eq", (count, 0), NumberType("bool"), at)
        text = "select(): index 0 out of range for tensor of size [0] at dimension 0"
        error = Op("stator::raise", ("IndexError", text), {}, (), place=at)
        blocks = (Block((), [error], ()), Block((), [], ()))
        self.ops.append(Op("stator::if", (is_empty,), {}, (), blocks, at))

    def pure(self, op: Op, args: tuple[Arg, ...], attributes: dict[str, Arg]) -> Value:
        """What the tensor holds that `op` has written to."""
        name = pure_name(op)
        before = args[0]
        assert isinstance(before, Value)
        dtype = result_dtype(name, args, attributes)
        assert isinstance(before.type, TensorType)
        result = self.new_value(replace(before.type, dtype=dtype or before.type.dtype))
        self.ops.append(Op(name, args, attributes, (result,), place=op.place))
        if result.type != before.type:
            result = self.op("aten::copy", (before, result), before.type, op.place)
        return result

    # ---- branches and loops

    def inner(self, block: Block, start: MemoryContents) -> tuple[Block, MemoryContents]:
        """A block inside, and what memory holds at its end."""
        self.memory.contents = start.copy()
        self.depth += 1
        try:
            return self.block(block), self.memory.contents
        finally:
            self.depth -= 1

    def add_if(self, op: Op) -> None:
        """A branch gives the memory that one of its sides writes."""
        start = self.memory.contents
        condition = self.read(op.args[0], op.place)
        done = [self.inner(block, start) for block in op.blocks]
        self.memory.contents = start
        ends = [contents for _, contents in done]
        changed = [r for r in start.current if any(e.version[r] != start.version[r] for e in ends)]
        tracked = [self.is_tracked(value) for value in op.results]
        results = tuple(
            Value(v.name, v.type) if t else v for v, t in zip(op.results, tracked, strict=True)
        )
        extra = tuple(self.new_value(root.kind) for root in changed)
        blocks = tuple(
            Block(b.inputs, b.ops, b.outputs + tuple(end.current[root] for root in changed))
            for b, end in done
        )
        self.ops.append(replace(op, args=(condition,), results=results + extra, blocks=blocks))
        for root, value in zip(changed, extra, strict=True):
            self.memory.set(root, value, op.place)
        for end in ends:
            for root, at in end.stale.items():
                if root in start.current:
                    self.memory.contents.stale.setdefault(root, at)
        self.join_results(op, results, [block.outputs for block in op.blocks], start)

    def join_results(
        self,
        op: Op,
        results: tuple[Value, ...],
        columns: list[tuple[Arg, ...]],
        start: MemoryContents,
    ) -> None:
        """Tensors that a branch or a loop gives are roots, linked to what they may be."""
        given: dict[Root, Root] = {}
        for index, (old, now) in enumerate(zip(op.results, results, strict=True)):
            if not self.is_tracked(old):
                continue
            root = self.memory.add_root(old, now, self.depth)
            for column in columns:
                for value in values_in(column[index]):
                    place = self.memory.places.get(value)
                    for source in place.root.whole() if place is not None else ():
                        if source in start.current:
                            root.link(source)
                        root.link(given.setdefault(source, root))

    def add_while(self, op: Op) -> None:
        """A loop carries the memory that its body writes."""
        (body,) = op.blocks
        start = self.memory.contents
        args = self.read_all(op.args, op.place)
        inputs, entry = self.entry(op, start)
        changed = self.settle(op, start, entry)
        carried = tuple(self.new_value(root.kind) for root in changed)
        for root, value in zip(changed, carried, strict=True):
            entry.current[root] = value
            entry.version[root] += 1
        done, end = self.inner(body, entry)
        self.memory.contents = start
        outputs = done.outputs + tuple(end.current[root] for root in changed)
        block = Block((*inputs, *carried), done.ops, outputs)
        results = tuple(Value(v.name, v.type) if self.is_tracked(v) else v for v in op.results)
        extra = tuple(self.new_value(root.kind) for root in changed)
        given = args + tuple(start.current[root] for root in changed)
        self.ops.append(replace(op, args=given, results=results + extra, blocks=(block,)))
        for root, value in zip(changed, extra, strict=True):
            self.memory.set(root, value, op.place)
        for root, at in end.stale.items():
            if root in start.current:
                self.memory.contents.stale.setdefault(root, at)
        self.join_results(op, results, [op.args[1:], body.outputs[1:]], start)

    def entry(self, op: Op, start: MemoryContents) -> tuple[tuple[Value, ...], MemoryContents]:
        """The inputs of a loop's body, and what memory holds when an iteration begins."""
        (body,) = op.blocks
        inputs = tuple(Value(v.name, v.type) if self.is_tracked(v) else v for v in body.inputs)
        self.memory.contents = start.copy()
        for old, now in zip(body.inputs, inputs, strict=True):
            if self.is_tracked(old):
                self.memory.add_root(old, now, self.depth + 1)
        self.link_inputs(body, op.args[1:], self.memory.contents)
        return inputs, self.memory.contents

    def link_inputs(self, body: Block, given: Sequence[Arg], lasting: MemoryContents) -> None:
        """The inputs of a body are linked to what they are given, and to each other through it."""
        seen: dict[Root, Root] = {}  # memory of one iteration, by the first input that is given it
        for old, arg in zip(body.inputs, given, strict=True):
            for value in values_in((arg,)) if self.is_tracked(old) else ():
                root, place = self.memory.places[old].root, self.memory.places.get(value)
                for source in place.root.whole() if place is not None else ():
                    if source in lasting.current:
                        root.link(source)
                    root.link(seen.setdefault(source, root))

    def settle(self, op: Op, start: MemoryContents, entry: MemoryContents) -> list[Root]:
        """The roots from outside that the body writes; it is built until no more is learned.

        What an iteration has made stale is stale when the next one begins.
        """
        (body,) = op.blocks
        before: tuple[int, int] | None = None
        while True:
            _, end = self.inner(body, entry)
            self.link_inputs(body, body.outputs[1:], entry)
            entry.stale.update({r: at for r, at in end.stale.items() if r in start.current})
            links = sum(other in entry.current for root in entry.current for other in root.linked)
            now = (len(entry.stale), links)
            if now == before:
                return [root for root in start.current if end.version[root] != start.version[root]]
            before = now


def _is_list(op: Op) -> bool:
    return kind_of(op) == "list"


def pure_name(op: Op) -> str:
    """The op that computes what `op` writes; ExportError if torch has none."""
    base, dot, overload = op.name.partition(".")
    name = f"{base.removesuffix('_')}{dot}{overload}"
    try:
        if base.endswith("_") and not base.endswith("__") and not schema_of(name).is_mutable:
            return name
    except LookupError:
        pass
    raise ExportError(f"{op.name} has no out-of-place form", at=op.place)


def result_dtype(name: str, args: tuple[Arg, ...], attributes: dict[str, Arg]) -> str | None:
    """The dtype that the op gives: it is run on empty tensors; None if those do not fit it."""
    try:
        found = resolve(name)(
            *map(_empty, args), **{key: _empty(arg) for key, arg in attributes.items()}
        )
    except (RuntimeError, TypeError, ValueError, IndexError, NotImplementedError):
        return None
    return str(found.dtype).removeprefix("torch.") if isinstance(found, torch.Tensor) else None


def _empty(arg: Arg) -> object:
    """A small object of the same type as `arg`."""
    if isinstance(arg, tuple):
        return [_empty(item) for item in arg]
    if not isinstance(arg, Value):
        return constant_of(arg)
    kind = present(arg.type)
    if isinstance(kind, TensorType):
        sizes = [size if isinstance(size, int) else 1 for size in kind.shape]
        return torch.empty(sizes, dtype=getattr(torch, kind.dtype), device="meta")
    if isinstance(kind, NumberType):
        return {"int": 0, "bool": False, "float": 0.0, "complex": 0j}[kind.kind]
    return ""
