"""GraphRecorder: walks the ops of a region once, for one layout, while a target records.

Sizes, and what is computed from them, are Python numbers here, and constants of the recording.
Numbers that are read of tensors are `DeviceNumber`s. A branch becomes a node of the graph, or,
where both sides are short, both are computed and one is chosen. A loop keeps what it carries in
fixed memory, which an iteration reads and then writes.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import torch

from stator.cudagraph.destinations import destinations, out_variant
from stator.cudagraph.fusing import GraphFusion, results_of
from stator.cudagraph.numbers import DeviceNumber, chosen, compute, read, tensor_of
from stator.cudagraph.origins import (
    NEW,
    Alternative,
    LoopTags,
    Origins,
    Tag,
    chosen_tag,
    is_always_new,
)
from stator.cudagraph.target import GraphTarget
from stator.cudagraph.views import DeviceView
from stator.execute.lifetimes import last_uses, needs_in
from stator.optimize.alias import Aliases
from stator.optimize.counted_loops import LISTS
from stator.optimize.device_numbers import READS, number_facts
from stator.optimize.graph_rules import ARITHMETIC, COMPARISONS, SELECT
from stator.optimize.region_rules import family_of
from stator.program.ir import Arg, Block, Op, Value, ops_in, values_in
from stator.program.numbers import NUMBER_FUNCTIONS, checked
from stator.program.opset.queries import aliased_by, is_pure, kind_of, may_raise, written_by
from stator.program.program import Program
from stator.program.regions import REGION, tensors_first
from stator.program.registry import constant_of, resolve
from stator.program.types import NumberType

SHORT, FEW_ELEMENTS = 8, 16384  # a branch of so few ops on so little data is computed both ways

MOST_ITERATIONS = 2048  # of a loop that is recorded iteration by iteration

Values = dict[Value, Any]


class NotRecorded(Exception):  # why, in the words of a failure
    """A region cannot be recorded for the layout of a call."""


class RecordedResults(NamedTuple):
    """What a recorded region gives, and what it relies on."""

    tensors: list[torch.Tensor]
    tags: list[Tag]  # of the tensors
    alternatives: list[Alternative]
    kept: list[object]


class GraphRecorder:
    """Records one region; `kept` are tensors that the recording relies on."""

    def __init__(
        self,
        region: Program,
        target: GraphTarget,
        device: torch.device,
        visible: Sequence[bool] = (),  # of each result: whether a caller can tell its origin
        fusion: GraphFusion | None = None,  # compiled code for regions inside this one
    ) -> None:
        self.target, self.device, self.fusion = target, device, fusion
        self.kept: list[object] = []
        self._places: dict[Value, torch.Tensor] = {}  # where loops want values
        self._region, self._visible = region, visible or [False] * len(region.body.outputs)
        self._facts = number_facts(region)
        self._needs = needs_in(region.body)
        seen = [v for v, can in zip(region.body.outputs, self._visible, strict=True) if can]
        aliases = Aliases(region)
        self._is_tracked = aliases.in_groups_of(values_in(tuple(seen)))
        self._is_written = aliases.is_written
        self._memories: list[torch.Tensor] = []  # that loops write to

    def results(self, given: Sequence[Any]) -> RecordedResults:
        """The results of the region, numbers as tensors without dimensions."""
        region = self._region
        values = dict(zip(region.inputs, given, strict=True))
        self._origins = Origins([one for one in given if isinstance(one, torch.Tensor)])
        yielded = self._block(region.body, (), values)
        outputs = [arg for arg in region.body.outputs if isinstance(arg, Value)]
        made = [self._as_tensor(one, arg) for one, arg in zip(yielded, outputs, strict=True)]
        tags = [
            self._tag(one) if can else NEW for one, can in zip(yielded, self._visible, strict=True)
        ]
        seen = [one for one, tag, can in zip(made, tags, self._visible, strict=True)
                if can and not (isinstance(tag, int) and tag != NEW)]  # fmt: skip
        _check_apart(seen)
        return RecordedResults(made, tags, self._origins.alternatives, self.kept)

    def _block(self, block: Block, given: Sequence[Any], values: Values) -> list[Any]:
        """What `block` yields when it is given these inputs."""
        values.update(zip(block.inputs, given, strict=True))
        *released, _ = last_uses(block, self._needs)
        for op, last in zip(block.ops, released, strict=True):
            values.update(zip(op.results, self._op(op, values), strict=True))
            for value in last:
                del values[value]
        return [self._read(arg, values) for arg in block.outputs]

    def _op(self, op: Op, values: Values) -> Sequence[Any]:
        kind = kind_of(op)
        if op.name == REGION:
            return self._fused(op, values)
        if kind == "branch":
            return self._branch(op, values)
        if kind == "loop":
            return self._loop(op, values)
        args = [self._read(arg, values) for arg in op.args]
        if op.name in READS:
            return (self._number_of(op, _plain(args[0])),)
        if kind == "number":
            return (self._number(op, args),)
        if op.name in LISTS:
            self._check_views(op, args)
            items = args if op.name == "stator::list_make" else [*args[0], args[1]]
            return (list(map(_plain, items)),)
        attributes = {name: self._read(arg, values) for name, arg in op.attributes.items()}
        return self._torch(op, args, attributes)

    def _number_of(self, op: Op, tensor: torch.Tensor) -> DeviceNumber:
        """The number in a tensor; what is written to the tensor later does not change it."""
        (result,), (source,) = op.results, values_in(op.args)
        assert isinstance(result.type, NumberType)
        number = read(tensor, result.type.kind)
        if self._is_written(source) or any(_share(number.tensor, m) for m in self._memories):
            return DeviceNumber(number.tensor.clone(), number.kind)
        return number

    def _read(self, arg: Arg, values: Values) -> Any:
        if isinstance(arg, Value):
            return values[arg]
        if isinstance(arg, tuple):
            return [self._read(one, values) for one in arg]
        return constant_of(arg)

    def _number(self, op: Op, args: Sequence[Any]) -> Any:
        result = op.results[0].type
        assert isinstance(result, NumberType)
        if not any(isinstance(arg, DeviceNumber) for arg in args):
            found = NUMBER_FUNCTIONS[op.name](*args)
            return checked(found) if result.kind == "int" else found
        return compute(op.name.removeprefix("stator::"), args, result.kind)

    def _torch(self, op: Op, args: list[Any], attributes: dict[str, Any]) -> Sequence[Any]:
        self._check_views(op, args)
        if op.name == SELECT and isinstance(args[2], DeviceNumber):
            tensor, dimension, index = args
            natural = self._facts[values_in(op.args)[-1]].is_natural
            return (DeviceView(_plain(tensor), dimension, index.tensor, natural),)
        if op.name == "aten::copy_" and isinstance(args[0], DeviceView):
            args[0].write(_plain(args[1]))
            return (args[0],)
        if op.name in ARITHMETIC | COMPARISONS and isinstance(args[1], DeviceNumber):
            tensor = _plain(args[0])
            args = [tensor, args[1].tensor.to(tensor.dtype), *args[2:]]
            name = op.name.replace(".Scalar", ".Tensor")
            return (resolve(name)(*args, **attributes),)
        place = self._places.get(op.results[0]) if op.results else None
        if place is not None and _is_plain_layout([place, *args]):
            resolve(out_variant(op.name) or op.name)(*map(_plain, args), **attributes, out=place)
            return (place,)
        result = resolve(op.name)(*map(_plain, args), **attributes)
        if not op.results:
            return ()
        return (
            (result,) if len(op.results) == 1 and not isinstance(result, list | tuple) else result
        )

    def _fused(self, op: Op, values: Values) -> Sequence[Any]:
        """A run of ops by compiled code, if there is some for this layout."""
        assert self.fusion is not None
        given = [_plain(values[value]) for value in tensors_first(op)]
        tensors = [one for one in given if isinstance(one, torch.Tensor)]
        numbers = given[len(tensors) :]
        code = self.fusion.code_for(op, tensors, numbers)
        wanted = [self._places.get(value) for value in op.results]
        if code is None:
            made = self._block(op.blocks[0], (), dict(values))
            if all(one.numel() for one in (*tensors, *made)):
                self.fusion.note(op, tensors, numbers, made, wanted)
            return made
        added = [
            place
            for place, number in zip(wanted, code.places, strict=True)
            if place is not None and number is not None and number >= len(tensors)
        ]
        made = self.target.call(code.run, [*tensors, *added])
        return results_of(code, tensors, added, made)

    def _check_views(self, op: Op, args: Sequence[Any]) -> None:
        """A `DeviceView` is read as a copy: a write to the copy would be lost."""
        if not any(isinstance(arg, DeviceView) for arg in args) or op.name == "aten::copy_":
            return
        views = [a for a, arg in zip(op.args, args, strict=True) if isinstance(arg, DeviceView)]
        shared = {*written_by(op), *(v for v in aliased_by(op) if self._is_written(v))}
        if shared.intersection(values_in(tuple(views))):
            raise NotRecorded(f"{op.name} is given a part of a tensor that is written to")

    def _branch(self, op: Op, values: Values) -> Sequence[Any]:
        condition = self._read(op.args[0], values)
        then, orelse = op.blocks
        if not isinstance(condition, DeviceNumber):
            return self._block(then if condition else orelse, (), values)
        if self._is_short(op, values):
            first = self._block(then, (), values)
            second = self._block(orelse, (), values)
            for yielded in (first, second):
                self._tags(yielded, op.results)
            return [
                self._chosen(condition.tensor, a, b, value)
                for a, b, value in zip(first, second, op.results, strict=True)
            ]
        return self._branch_node(op, condition.tensor, values)

    def _chosen(self, condition: torch.Tensor, first: Any, second: Any, value: Value) -> Any:
        if first is second:
            return first
        if isinstance(value.type, NumberType):
            return chosen(condition, first, second, value.type.kind)
        first, second = _plain(first), _plain(second)
        _check_same(first, second, value)
        result = torch.where(condition, first, second)
        if self._is_tracked(value):
            self._origins.set(result, chosen_tag(condition, self._tag(first), self._tag(second)))
        return result

    def _tag(self, tensor: torch.Tensor | DeviceView) -> Tag:
        if isinstance(tensor, DeviceView):
            raise NotRecorded("a result is a part of a tensor, and only the device knows which")
        found = self._origins.tag_of(tensor)
        if found is None:
            raise NotRecorded("a result may be a part of a tensor that a branch or a loop gives")
        return found

    def _branch_node(self, op: Op, condition: torch.Tensor, values: Values) -> Sequence[Any]:
        then, orelse = op.blocks
        results: list[torch.Tensor] = []
        tags: list[tuple[Tag, ...]] = []

        def run_then() -> None:
            yielded = self._block(then, (), dict(values))
            before = [*_tensors_in(values.values())]
            tags.append(self._tags(yielded, op.results))
            for value, one in zip(op.results, yielded, strict=True):
                made = self._as_tensor(one, value)
                is_owned = not any(_share(made, other) for other in (*before, *results))
                results.append(made if is_owned else made.clone())
            self.kept.append(results)  # from memory of the body, but used after it

        def run_else() -> None:
            yielded = self._block(orelse, (), dict(values))
            tags.append(self._tags(yielded, op.results))
            for value, one, mine in zip(op.results, yielded, results, strict=True):
                made = self._as_tensor(one, value)
                _check_same(mine, made, value)
                mine.copy_(made)

        self.target.branch(condition, run_then, run_else)
        for value, result, first, second in zip(op.results, results, *tags, strict=True):
            if self._is_tracked(value):
                self._origins.set(result, chosen_tag(condition, first, second))
        return [self._as_value(one, value) for one, value in zip(results, op.results, strict=True)]

    def _loop(self, op: Op, values: Values) -> Sequence[Any]:
        condition, *given = (self._read(arg, values) for arg in op.args)
        (body,) = op.blocks
        again = body.outputs[0]
        if not (isinstance(again, Value) and self._facts[again].on_device):
            return self._iterations(body, condition, given, values)
        test = tensor_of(condition, "bool", self.device).clone()
        memory = [
            self._as_tensor(one, value).clone(memory_format=torch.preserve_format)
            for one, value in zip(given, body.inputs, strict=True)
        ]
        self.kept += [test, memory]
        self._memories += memory
        tracking = self._tracking(given, memory, test, body)
        written = destinations(body)
        places = {value: memory[n] if n >= 0 else test for value, n in written.items()}
        self._places.update(places)

        def iterate() -> None:
            carried = [self._as_value(m, v) for m, v in zip(memory, body.inputs, strict=True)]
            again, *yielded = self._block(body, carried, dict(values))
            decided = tensor_of(again, "bool", self.device)
            if not _share(decided, test):
                test.copy_(decided)
            is_placed = [output in written for output in body.outputs[1:]]
            tags = self._tags(yielded, body.inputs, is_placed)
            tracking.iterated(tags)
            made = [self._as_tensor(one, v) for one, v in zip(yielded, body.inputs, strict=True)]
            # what comes from another place is copied before that place is written to
            made = [
                one.clone()
                if one is not mine and any(_share(one, place) for place in memory)
                else one
                for mine, one in zip(memory, made, strict=True)
            ]
            for mine, one, value in zip(memory, made, body.inputs, strict=True):
                _check_same(mine, one, value)
                if one is not mine:
                    mine.copy_(one)

        self.target.loop(test, iterate)
        tracking.ended()
        return [self._as_value(m, v) for m, v in zip(memory, op.results, strict=True)]

    def _iterations(
        self, body: Block, condition: bool, carried: list[Any], values: Values
    ) -> list[Any]:
        """What a loop gives whose iterations are recorded one after the other."""
        for _ in range(MOST_ITERATIONS):
            if not condition:
                return carried
            condition, *carried = self._block(body, carried, dict(values))
        raise NotRecorded(f"a loop has more than {MOST_ITERATIONS} iterations")

    def _tracking(
        self, given: Sequence[Any], memory: Sequence[torch.Tensor], test: torch.Tensor, body: Block
    ) -> LoopTags:
        """The tags of what a loop carries."""
        first = self._tags(given, body.inputs)
        is_tracked = [self._is_tracked(value) for value in body.inputs]
        tracking = LoopTags(self._origins, memory, is_tracked, first, test)
        self.kept.append(tracking)
        return tracking

    def _tags(
        self, yielded: Sequence[Any], values: Sequence[Value], is_new: Sequence[bool] = ()
    ) -> tuple[Tag, ...]:
        """The tags of what a block yields, where they are tracked; of some it is known."""
        known = is_new or [False] * len(values)
        tags: list[Tag] = []
        for one, value, is_known in zip(yielded, values, known, strict=True):
            tags.append(self._tag(one) if self._is_tracked(value) and not is_known else NEW)
        new = [
            one
            for one, tag, value in zip(yielded, tags, values, strict=True)
            if self._is_tracked(value) and is_always_new(tag)
        ]
        _check_apart(new)
        self.kept += [tag for tag in tags if isinstance(tag, torch.Tensor)]
        return tuple(tags)

    def _as_tensor(self, given: Any, value: Value) -> torch.Tensor:
        """A value of the program as one tensor."""
        if isinstance(value.type, NumberType):
            return tensor_of(given, value.type.kind, self.device)
        tensor: torch.Tensor = _plain(given)
        return tensor

    def _as_value(self, tensor: torch.Tensor, value: Value) -> Any:
        if isinstance(value.type, NumberType):
            return DeviceNumber(tensor, value.type.kind)
        return tensor

    def _is_short(self, op: Op, values: Values) -> bool:
        """Whether both sides of a branch are so short that computing both is cheaper."""
        ops = [inner for block in op.blocks for inner in ops_in(block)]
        launched = [one for one in ops if family_of(one) != "cheap"]
        if len(launched) > SHORT or any(one.blocks and kind_of(one) == "loop" for one in ops):
            return False
        if any(kind_of(one) == "torch" and (not is_pure(one) or may_raise(one)) for one in ops):
            return False
        if any(one.name == SELECT and isinstance(one.args[2], Value) for one in ops):
            return False  # the index may be out of bounds on the side that is not taken
        used = (values[v] for one in ops for v in values_in(one.args) if v in values)
        return all(tensor.numel() <= FEW_ELEMENTS for tensor in _tensors_in(used))


def _plain(value: Any) -> Any:
    """A tensor for what may be a view by a number of the device; lists are opened."""
    if isinstance(value, DeviceView):
        return value.read()
    return [_plain(one) for one in value] if isinstance(value, list) else value


def _is_plain_layout(tensors: Sequence[Any]) -> bool:
    """Whether all tensors are contiguous, so that a new result would be."""
    return all(one.is_contiguous() for one in tensors if isinstance(one, torch.Tensor))


def _tensors_in(values: Iterable[Any]) -> Iterator[torch.Tensor]:
    """The tensors behind values of the program."""
    for value in values:
        if isinstance(value, DeviceNumber | DeviceView):
            yield value.tensor
        elif isinstance(value, torch.Tensor):
            yield value


def _share(one: torch.Tensor, other: torch.Tensor) -> bool:
    return one.untyped_storage().data_ptr() == other.untyped_storage().data_ptr()


def _check_apart(tensors: Sequence[torch.Tensor]) -> None:
    """Two new tensors that a caller sees are not one."""
    for one, other in itertools.combinations(tensors, 2):
        if _share(one, other):
            raise NotRecorded("two results may be in the same memory")


def _check_same(one: torch.Tensor, other: torch.Tensor, value: Value) -> None:
    if one.shape != other.shape or one.dtype != other.dtype:
        raise NotRecorded(f"%{value.name} has another size or dtype on each path")
    if one.stride() != other.stride():
        raise NotRecorded(f"%{value.name} has another memory layout on each path")
