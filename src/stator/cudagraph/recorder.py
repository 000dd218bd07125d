"""GraphRecorder: walks the ops of a region once, for one layout, while a target records.

Sizes, and what is computed from them, are Python numbers here, and constants of the recording.
Numbers that are read of tensors are `DeviceNumber`s. A branch becomes a node of the graph, or,
where both sides are short, both are computed and one is chosen. A loop keeps what it carries in
fixed memory, which an iteration reads and then writes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch

from stator.cudagraph.destinations import destinations, out_variant
from stator.cudagraph.fusing import GraphFusion, results_of
from stator.cudagraph.memory import (
    NotRecorded,
    check_apart,
    check_same,
    is_one_number,
    is_plain_layout,
    plain,
    share,
    tensors_in,
)
from stator.cudagraph.numbers import DeviceNumber, chosen, compute, host_tensor, read, tensor_of
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
from stator.optimize.graph_rules import ARITHMETIC, COMPARISONS, DEMAND, SELECT
from stator.optimize.limited_loops import limit_of, limited_loops
from stator.optimize.region_rules import family_of
from stator.program.ir import Arg, Block, Op, Value, ops_in, values_in
from stator.program.numbers import NUMBER_FUNCTIONS, checked
from stator.program.opset.queries import aliased_by, is_pure, kind_of, may_raise, written_by
from stator.program.program import Program
from stator.program.regions import REGION, tensors_first
from stator.program.registry import constant_of, resolve, schema_of
from stator.program.types import NumberType
from stator.torch_private.dispatch import has_autocast

SHORT, FEW_ELEMENTS = 8, 16384  # a branch of so few ops on so little data is computed both ways

MOST_ITERATIONS = 2048  # of a loop that is recorded iteration by iteration
MOST_LIMITED = 512  # of one that data may end
DECIDED = {"stator::and": False, "stator::or": True}  # by one operand alone

Values = dict[Value, Any]


class RecordedOutcome(NamedTuple):
    """What a recorded region gives."""

    tensors: list[torch.Tensor]
    tags: list[Tag]  # of the tensors


class RecordedResults(NamedTuple):
    """What a recorded region gives, and what it relies on."""

    outcomes: list[RecordedOutcome]  # one for each number of iterations of its limited loop
    iterations: torch.Tensor | None  # how many the loop had
    alternatives: list[Alternative]
    kept: list[object]


class ByIterations(NamedTuple):
    """A value that depends on how many iterations a limited loop has."""

    values: list[Any]


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
        self._limited = limited_loops(region)
        self._iterations_run: torch.Tensor | None = None  # of a limited loop

    def results(self, given: Sequence[Any]) -> RecordedResults:
        """The results of the region, numbers as tensors without dimensions."""
        region = self._region
        values = dict(zip(region.inputs, given, strict=True))
        self._origins = Origins([one for one in given if isinstance(one, torch.Tensor)])
        yielded = self._block(region.body, (), values)
        numbers = {len(one.values) for one in yielded if isinstance(one, ByIterations)} or {1}
        outcomes = [
            self._outcome(
                [one.values[n] if isinstance(one, ByIterations) else one for one in yielded]
            )
            for n in range(max(numbers))
        ]
        if len(outcomes) > 1 and any(isinstance(t, torch.Tensor) for o in outcomes for t in o.tags):
            raise NotRecorded("a result may be an input, and only the device knows")
        return RecordedResults(
            outcomes, self._iterations_run, self._origins.alternatives, self.kept
        )

    def _outcome(self, yielded: Sequence[Any]) -> RecordedOutcome:
        """The results for what the region has yielded."""
        outputs = [arg for arg in self._region.body.outputs if isinstance(arg, Value)]
        made = [self._as_result(one, arg) for one, arg in zip(yielded, outputs, strict=True)]
        tags = [
            self._tag(one) if can else NEW for one, can in zip(yielded, self._visible, strict=True)
        ]
        seen = [one for one, tag, can in zip(made, tags, self._visible, strict=True)
                if can and not (isinstance(tag, int) and tag != NEW)]  # fmt: skip
        check_apart(seen)
        return RecordedOutcome(made, tags)

    def _as_result(self, given: Any, value: Value) -> torch.Tensor:
        if isinstance(value.type, NumberType) and not isinstance(given, DeviceNumber):
            return host_tensor(given)
        return self._as_tensor(given, value)

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
            return (self._number_of(op, plain(args[0])),)
        if op.name == DEMAND:
            if not args[0]:
                raise NotRecorded("a check of sizes fails")
            return ()
        if kind == "number":
            return (self._number(op, args),)
        if op.name in LISTS:
            self._check_views(op, args)
            items = args if op.name == "stator::list_make" else [*args[0], args[1]]
            return (list(map(plain, items)),)
        attributes = {name: self._read(arg, values) for name, arg in op.attributes.items()}
        return self._torch(op, args, attributes)

    def _number_of(self, op: Op, tensor: torch.Tensor) -> DeviceNumber:
        """The number in a tensor; what is written to the tensor later does not change it."""
        (result,), (source,) = op.results, values_in(op.args)
        assert isinstance(result.type, NumberType)
        number = read(tensor, result.type.kind)
        if self._is_written(source) or any(share(number.tensor, m) for m in self._memories):
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
        decided = DECIDED.get(op.name)
        if decided is not None and any(arg is decided for arg in args):
            return decided  # whatever the device has
        if not any(isinstance(arg, DeviceNumber) for arg in args):
            found = NUMBER_FUNCTIONS[op.name](*args)
            return checked(found) if result.kind == "int" else found
        return compute(op.name.removeprefix("stator::"), args, result.kind)

    def _torch(self, op: Op, args: list[Any], attributes: dict[str, Any]) -> Sequence[Any]:
        if args and isinstance(args[0], DeviceView) and _writes_first(op):
            return (self._written_view(op, args, attributes),)
        self._check_views(op, args)
        if op.name == SELECT and isinstance(args[2], DeviceNumber):
            tensor, dimension, index = args
            natural = self._facts[values_in(op.args)[-1]].is_natural
            return (DeviceView(plain(tensor), dimension, index.tensor, natural),)
        if op.name in ARITHMETIC | COMPARISONS and isinstance(args[1], DeviceNumber):
            tensor = plain(args[0])
            args = [tensor, args[1].tensor.to(tensor.dtype), *args[2:]]
            name = op.name.replace(".Scalar", ".Tensor")
            return (resolve(name)(*args, **attributes),)
        place = self._places.get(op.results[0]) if op.results else None
        if place is not None and is_plain_layout([place, *args]):
            resolve(out_variant(op.name) or op.name)(*map(plain, args), **attributes, out=place)
            return (place,)
        result = resolve(op.name)(*map(plain, args), **attributes)
        if not op.results:
            return ()
        return (
            (result,) if len(op.results) == 1 and not isinstance(result, list | tuple) else result
        )

    def _written_view(self, op: Op, args: Sequence[Any], attributes: dict[str, Any]) -> DeviceView:
        """Write to a part of a tensor that only the device knows, such as `x[n] += y`."""
        view: DeviceView = args[0]
        if op.name == "aten::copy_":
            view.write(plain(args[1]))
        else:
            view.write(resolve(op.name)(view.read(), *map(plain, args[1:]), **attributes))
        return view

    def _fused(self, op: Op, values: Values) -> Sequence[Any]:
        """A run of ops by compiled code, if there is some for this layout."""
        assert self.fusion is not None
        if (
            self._iterations_run is not None
        ):  # in a limited loop: each iteration would need its own code
            return self._block(op.blocks[0], (), dict(values))
        given = [plain(values[value]) for value in tensors_first(op)]
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
        if not any(isinstance(arg, DeviceView) for arg in args):
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
        first, second = plain(first), plain(second)
        check_same(first, second, value)
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
        sides: list[list[Any]] = []

        def run_then() -> None:
            yielded = self._block(then, (), dict(values))
            sides.append(yielded)
            before = [*tensors_in(values.values())]
            tags.append(self._tags(yielded, op.results))
            for value, one in zip(op.results, yielded, strict=True):
                made = self._as_tensor(one, value)
                is_owned = not any(share(made, other) for other in (*before, *results))
                results.append(made if is_owned else made.clone())
            self.kept.append(results)  # from memory of the body, but used after it

        def run_else() -> None:
            yielded = self._block(orelse, (), dict(values))
            sides.append(yielded)
            tags.append(self._tags(yielded, op.results))
            for value, one, mine in zip(op.results, yielded, results, strict=True):
                made = self._as_tensor(one, value)
                check_same(mine, made, value)
                mine.copy_(made)

        self.target.branch(condition, run_then, run_else)
        for value, result, first, second in zip(op.results, results, *tags, strict=True):
            if self._is_tracked(value):
                self._origins.set(result, chosen_tag(condition, first, second))
        return [
            first if is_one_number(first, second) else self._as_value(one, value)
            for one, value, first, second in zip(results, op.results, *sides, strict=True)
        ]

    def _loop(self, op: Op, values: Values) -> Sequence[Any]:
        condition, *given = (self._read(arg, values) for arg in op.args)
        (body,) = op.blocks
        again = body.outputs[0]
        if not (isinstance(again, Value) and self._facts[again].on_device):
            return self._iterations(body, condition, given, values)
        if op in self._limited:
            return self._limited_loop(op, condition, given, values)
        test = tensor_of(condition, "bool", self.device).clone()
        memory = [
            self._as_tensor(one, value).clone(memory_format=torch.preserve_format)
            for one, value in zip(given, body.inputs, strict=True)
        ]
        self.kept += [test, memory]
        self._memories += memory
        tracking = self._tracking(given, memory, test, body)
        # autocast does not cast the arguments of ops that are given a place for their result
        written = {} if has_autocast() else destinations(body)
        places = {value: memory[n] if n >= 0 else test for value, n in written.items()}
        self._places.update(places)

        def iterate() -> None:
            carried = [self._as_value(m, v) for m, v in zip(memory, body.inputs, strict=True)]
            again, *yielded = self._block(body, carried, dict(values))
            decided = tensor_of(again, "bool", self.device)
            if not share(decided, test):
                test.copy_(decided)
            is_placed = [output in written for output in body.outputs[1:]]
            tags = self._tags(yielded, body.inputs, is_placed)
            tracking.iterated(tags)
            made = [self._as_tensor(one, v) for one, v in zip(yielded, body.inputs, strict=True)]
            # what comes from another place is copied before that place is written to
            made = [
                one.clone()
                if one is not mine and any(share(one, place) for place in memory)
                else one
                for mine, one in zip(memory, made, strict=True)
            ]
            for mine, one, value in zip(memory, made, body.inputs, strict=True):
                check_same(mine, one, value)
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

    def _limited_loop(
        self, op: Op, condition: Any, carried: list[Any], values: Values
    ) -> list[Any]:
        """What a loop gives whose iterations are recorded, each run only if the device says so."""
        most = self._limit(op, carried, values)
        (body,) = op.blocks
        runs = tensor_of(condition, "bool", self.device).clone()
        self._iterations_run = count = torch.zeros((), dtype=torch.int64, device=self.device)
        outcomes = [carried]

        def iterate() -> None:
            nonlocal condition
            condition, *yielded = self._block(body, outcomes[-1], dict(values))
            runs.copy_(tensor_of(condition, "bool", self.device))
            count.add_(1)
            outcomes.append(yielded)

        for _ in range(most + 2):
            if condition is False:
                break
            self.target.branch(runs, iterate, None)
        else:
            raise NotRecorded("only the device knows when a loop ends")
        self.kept += [runs, outcomes]
        return [ByIterations(list(one)) for one in zip(*outcomes, strict=True)]

    def _limit(self, op: Op, carried: Sequence[Any], values: Values) -> int:
        """How many iterations a limited loop may have, or a few less."""
        limit = limit_of(op)
        assert limit is not None
        start, bound = carried[limit.counter], self._read(limit.bound, values)
        if isinstance(start, DeviceNumber) or isinstance(bound, DeviceNumber):
            raise NotRecorded("only the device knows the limit of a loop")
        most = int(bound - start) // limit.step
        if most > MOST_LIMITED:
            raise NotRecorded(f"a loop may have more than {MOST_LIMITED} iterations")
        return max(most, 0)

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
        check_apart(new)
        self.kept += [tag for tag in tags if isinstance(tag, torch.Tensor)]
        return tuple(tags)

    def _as_tensor(self, given: Any, value: Value) -> torch.Tensor:
        """A value of the program as one tensor."""
        if isinstance(value.type, NumberType):
            return tensor_of(given, value.type.kind, self.device)
        tensor: torch.Tensor = plain(given)
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
        return all(tensor.numel() <= FEW_ELEMENTS for tensor in tensors_in(used))


def _writes_first(op: Op) -> bool:
    """Whether `op` writes to its first argument, and gives that."""
    return written_by(op) == values_in(op.args[:1]) and schema_of(op.name).is_mutable
