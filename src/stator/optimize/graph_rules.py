"""The rules of CUDA graphs: which ops may be in one, and when one is worth it.

A graph runs without the host, so an op may be in one if it needs nothing of the host and leaves
nothing to it:

- it is an op of ATen on tensors of one device, and no size of its results depends on values;
- if it draws random numbers, it draws them from the default generator, and is in no branch or loop
  that the device decides: a replay moves the generator by what all ops of a graph draw;
- it is a branch or a loop whose condition is computed from tensors, of ops that may be in a graph;
  what a loop carries has the same sizes in every iteration, and nothing writes to it in place;
- it is a loop whose iterations the host can count (`counted_loops`): a graph holds one after the
  other, so sizes may change in it, and lists of tensors may grow, if nothing outside needs them;
- it is a loop that data ends, but after a number of iterations that the host knows at the latest
  (`limited_loops`), at the end of a region: sizes may change in it;
- it computes with numbers that are read of tensors (`device_numbers`), in a way that a device can;
- what it writes to is memory that ops of the same region make, and all writes are in the region; or
  memory that the program stores (`stored_writes`).

Ops on indices raise no error on a CUDA device, in eager code neither: the device stops. So all of
this may be reordered as `regions` does it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from stator.optimize.alias import Aliases
from stator.optimize.counted_loops import LISTS, is_list, lists_of, read_for_loops, tests_of
from stator.optimize.device_numbers import READS, NumberFacts, number_facts
from stator.optimize.limited_loops import keeps_sizes, limited_loops
from stator.optimize.region_rules import DENSE, INTEGERS, SIZES, family_of, is_off, touched
from stator.optimize.stored_writes import StoredWrites
from stator.program.ir import (
    Arg,
    Block,
    Op,
    Value,
    operands_of,
    ops_in,
    used_by,
    values_in,
    with_inner_ops,
)
from stator.program.opset.in_files import stem_of
from stator.program.opset.queries import (
    is_effect,
    is_stators,
    kind_of,
    leaves_trace,
    may_raise,
    row_of,
    written_by,
)
from stator.program.program import Program
from stator.program.registry import schema_of
from stator.program.sizes import is_static
from stator.program.types import ListType, NumberType, TensorType, Type

LEAST_OPS = 4  # fewer launches, without a loop, cost about as much as that of a graph
UNSIZED = frozenset({"data_dependent_output", "dynamic_output_shape", "inplace_view"})
INDEXING = frozenset({"index", "index_put", "index_put_", "_unsafe_index", "_index_put_impl_"})
AUTOGRAD = frozenset(
    f"aten::{name}" for name in ("requires_grad_", "detach_", "set_data", "retain_grad")
)
NO_TENSOR = "returns a value that is neither a CUDA tensor nor a number"
WRITTEN = "has to do with a tensor that the program writes to"
GROWS = "carries tensors whose sizes change from one iteration to the next"
RUN_NUMBER = "takes a data-dependent number"

COMPARISONS = frozenset(f"aten::{name}.Scalar" for name in ("eq", "ne", "lt", "le", "gt", "ge"))
ARITHMETIC = frozenset(f"aten::{name}.Tensor" for name in ("add", "sub", "mul"))
SELECT = "aten::select.int"
DEMAND = "stator::demand"
FLOATS = frozenset({"float32", "float64"})  # others round a number in their own way
NUMBERS = frozenset(
    f"stator::{name}"
    for name in (
        "add", "sub", "mul", "neg", "abs", "min", "max", "mod", "floordiv", "truediv",
        "eq", "ne", "lt", "le", "gt", "ge", "and", "or", "not", "bool", "int", "float",
    )
)  # fmt: skip
ORDERED = frozenset(f"stator::{name}" for name in ("eq", "ne", "lt", "le", "gt", "ge"))
LOGIC = frozenset(f"stator::{name}" for name in ("and", "or", "not"))
KINDS = {bool: NumberType("bool"), int: NumberType("int"), float: NumberType("float")}
BY_CONSTANT = frozenset({"stator::mod", "stator::floordiv", "stator::truediv"})


class GraphRules:
    """The rules of CUDA graphs, for one program."""

    is_observing = False
    device = "cuda"

    def __init__(self, program: Program, aliases: Aliases) -> None:
        self._aliases = aliases
        self._read_by_host = read_for_loops(program)
        self._facts = number_facts(program, self._read_by_host)
        self._is_touched = touched([*program.ops()], aliases)
        self._members = aliases.groups(program)
        self._limited = limited_loops(program)
        self._stored = StoredWrites(program, aliases, self._is_touched)

    def reasons(self, block: Block) -> list[str]:
        """For each op of `block`: why it cannot be in a graph."""
        found = [self._why_not(op) for op in block.ops]
        memory = [self._written_in(op) for op in block.ops]
        here = {value for op in block.ops for value in _made_in(op)}
        groups = {root for roots in memory for root in roots}
        while True:
            bad = {
                group
                for group in groups
                if not self._is_contained(group, block, found, memory, here)
                and not self._is_stored(group, block, found)
            }
            changed = [
                why or (WRITTEN if roots & bad else "")
                for why, roots in zip(found, memory, strict=True)
            ]
            changed = _with_whole_lists(block, changed, here)
            if changed == found:
                return found
            found = changed

    def is_cheap(self, op: Op) -> bool:
        """Whether `op` is a view, or about sizes; of what is written to, it may be a copy."""
        if kind_of(op) == "number":
            return self._is_of_host(op)
        if family_of(op) != "cheap" or self._device_numbers(op):
            return False
        return self._stored.is_view(op) or not any(map(self._is_touched, op.results))

    def is_worth(self, ops: Sequence[Op]) -> bool:
        """Whether a graph saves more launches than its own costs; its numbers can be given."""
        inside = [*with_inner_ops(ops)]
        made = {value for op in ops for value in _made_in(op)}
        given = {value for op in ops for value in used_by(op)} - made
        if any(isinstance(v.type, NumberType) and v.type.kind != "int" for v in given):
            return False
        launched = sum(map(_is_launched, inside))
        loops = (op.blocks[0] for op in inside if kind_of(op) == "loop")
        return launched >= LEAST_OPS or any(_is_launched(op) for b in loops for op in ops_in(b))

    def is_last(self, op: Op) -> bool:
        """After a limited loop the host has to find out how many iterations there were."""
        return op in self._limited and not self._is_counted(op)

    def may_pass(self, ops: Sequence[Op], run: Sequence[Op]) -> bool:
        """Whether no one can tell the order: of random numbers, errors and effects."""
        rest = [op for op in run if op not in ops]
        there = self._stored.groups_of(rest)
        if not there and not any(draws(o) or o.name == DEMAND for o in with_inner_ops(rest)):
            return True
        moved = with_inner_ops(ops)
        return not there & self._stored.groups_of(ops) and not any(map(_leaves_trace, moved))

    def _is_contained(
        self,
        root: Value,
        block: Block,
        found: Sequence[str],
        memory: Sequence[frozenset[Value]],
        here: set[Value],
    ) -> bool:
        """Whether a region can hold a group of memory from when it is made to the last write."""
        if not here.issuperset(self._members[root]):
            return False
        places = [n for n, roots in enumerate(memory) if root in roots]
        last = max((n for n in places if self._writes(block.ops[n], root)), default=-1)
        if last < 0:  # it is changed in a way that torch does not tell
            return False
        if any(found[places[0] : last + 1]):
            return False
        later = [value for n in places if n > last for value in used_by(block.ops[n])]
        ops = block.ops[places[0] : last + 1]
        held = {value for op in ops if not self.is_cheap(op) for value in op.results}
        seen = {v for v in (*later, *values_in(block.outputs)) if v in held}
        return sum(self._aliases.root(value) is root for value in seen) <= 1

    def _is_stored(self, root: Value, block: Block, found: Sequence[str]) -> bool:
        """Whether regions may read and write a group of memory that the program stores."""
        places = self._stored.held(root, block, self.is_cheap)
        if places is None:
            return False
        ops = block.ops[places.start : places.stop]
        return not any(found[places.start : places.stop]) and not any(map(self.is_last, ops))

    def _writes(self, op: Op, root: Value) -> bool:
        inside = with_inner_ops([op])
        written = (v for one in inside if not is_off(one) for v in written_by(one))
        return any(self._aliases.root(value) is root for value in written)

    def _written_in(self, op: Op) -> frozenset[Value]:
        """The groups of memory that `op` has to do with and that the program writes to."""
        involved = {*used_by(op), *_made_in(op)}
        return frozenset(self._aliases.root(v) for v in involved if self._is_touched(v))

    def _why_not(self, op: Op) -> str:
        kind = kind_of(op)
        if op.name in READS:
            return self._why_not_read(op)
        if kind == "number":
            return self._why_not_number(op)
        if kind in ("branch", "loop"):
            return self._why_not_blocks(op)
        if op.name in LISTS:
            return "" if all(map(self._is_in_graph, lists_of(op))) else NO_TENSOR
        if kind != "torch" or not op.name.startswith("aten::"):
            return "is not an op of torch"
        return self._why_not_op(op) or self._why_not_types(op)

    def _why_not_op(self, op: Op) -> str:
        row, schema = row_of(op.name), schema_of(op.name)
        if op.name in AUTOGRAD:
            return "changes what autograd knows of a tensor"
        if draws(op) and op.attributes.get("generator") is not None:
            return "draws from a generator of its own"
        if row.mutates and not is_off(op) and not written_by(op):
            return "changes something that is not a tensor of the program"
        if row.conditions or not op.results:
            return "is checked by the host"
        return "gives sizes that depend on values" if schema.tags & UNSIZED else ""

    def _why_not_types(self, op: Op) -> str:
        involved = (*operands_of(op), *op.results)
        tensors = [value.type for value in involved if isinstance(value.type, TensorType)]
        numbers = [value for value in involved if isinstance(value.type, NumberType)]
        lists = [value for value in involved if is_list(value)]
        tensors += [k.type.element for k in lists if isinstance(k.type, ListType)
                    and isinstance(k.type.element, TensorType)]  # fmt: skip
        if len(tensors) + len(numbers) < len(involved) or any(
            k.dtype not in DENSE for k in tensors
        ):
            return "has a value that is neither a dense tensor nor a number"
        if len({kind.device for kind in tensors}) != 1 or not self._is_there(tensors[0]):
            return "has tensors that are not on one CUDA device"
        stem = stem_of(op.name)
        given = [value.type for value in values_in(op.args)]
        if stem in INDEXING and any(
            isinstance(kind, TensorType) and kind.dtype in ("bool", "uint8") for kind in given[1:]
        ):
            return "gives sizes that depend on values"
        if any(isinstance(value.type, NumberType) for value in op.results) and stem not in SIZES:
            return RUN_NUMBER
        return self._why_not_numbers(op)

    def _is_there(self, kind: TensorType) -> bool:
        return kind.device.split(":")[0] == self.device

    def _why_not_numbers(self, op: Op) -> str:
        there = self._device_numbers(op)
        here = [v for v in values_in(op.args) if isinstance(v.type, NumberType) and v not in there]
        if any(value.type != NumberType("int") for value in here):
            return RUN_NUMBER
        if not there:
            return ""
        *others, last = op.args
        if op.name not in COMPARISONS | ARITHMETIC | {SELECT}:
            return RUN_NUMBER
        if op.name in ARITHMETIC and len(op.args) == 3:
            others, last = [op.args[0]], op.args[1]
        is_last = not any(value in there for value in values_in(tuple(others)))
        in_attributes = any(value in there for value in values_in(op.attributes))
        if not is_last or in_attributes or not isinstance(last, Value):
            return RUN_NUMBER
        return "" if op.name == SELECT or _is_exact(op, last) else RUN_NUMBER

    def _device_numbers(self, op: Op) -> set[Value]:
        given = operands_of(op)
        numbers = (value for value in given if isinstance(value.type, NumberType))
        return {value for value in numbers if self._fact(value).on_device}

    def _fact(self, value: Value) -> NumberFacts:
        return self._facts.get(value, NumberFacts())

    def _why_not_read(self, op: Op) -> str:
        (tensor,) = values_in(op.args)
        if op.results[0] in self._read_by_host:
            return "reads how many iterations a loop has in which something grows"
        kind = tensor.type
        if not isinstance(kind, TensorType) or not self._is_there(kind):
            return "reads a number from a tensor that is not on a CUDA device"
        if kind.dtype not in DENSE or not is_static(kind.shape) or any(n != 1 for n in kind.shape):
            return "has a value that is neither a dense tensor nor a number"
        return ""

    def _why_not_number(self, op: Op) -> str:
        if not self._device_numbers(op):
            return "" if self._is_of_host(op) else RUN_NUMBER
        kinds = [v.type for v in (*values_in(op.args), *op.results)]
        if op.name not in NUMBERS or any(
            not isinstance(kind, NumberType) or kind.tag or kind.kind == "complex" for kind in kinds
        ):
            return "computes with numbers as a device does not"
        return "" if self._is_total(op) else "computes with numbers as a device does not"

    def _is_total(self, op: Op) -> bool:
        """Whether a device computes exactly what Python does."""
        result = op.results[0].type
        names = {
            value.type.kind for value in values_in(op.args) if isinstance(value.type, NumberType)
        }
        floats = "float" in names or any(isinstance(arg, float) for arg in op.args)
        small = all(self._fact(value).is_small for value in values_in(op.args)
                    if value.type == NumberType("int"))  # fmt: skip
        if op.name in LOGIC:
            return names == {"bool"} and all(isinstance(arg, Value | bool) for arg in op.args)
        if op.name in BY_CONSTANT:
            by = op.args[1]
            is_whole = isinstance(by, int) and 0 < by < 2**31
            return is_whole and small and (not floats or op.name == "stator::truediv")
        if op.name == "stator::int":
            return not floats
        if op.name in ("stator::min", "stator::max") and not _are_of_kind(op.args, result):
            return False
        if op.name in ORDERED or result == NumberType("float"):
            return not floats or small
        if result == NumberType("int"):
            return self._fact(op.results[0]).is_small
        return True

    def _why_not_blocks(self, op: Op, *, is_inside: bool = False) -> str:
        """A branch or a loop may be in a graph if all that is in it may.

        Inside another one, the host may decide a branch while it records.
        """
        test, is_counted = op.args[0], self._is_counted(op)
        if kind_of(op) == "loop" and not is_counted:
            (body,) = op.blocks
            test = body.outputs[0]
            if not keeps_sizes(op) and op not in self._limited:
                return GROWS
        is_recorded = is_counted or op in self._limited or (is_inside and kind_of(op) == "branch")
        if not is_recorded and (not isinstance(test, Value) or not self._fact(test).on_device):
            return "is decided by the host"
        values = (*op.results, *(value for block in op.blocks for value in block.inputs))
        for value in values:
            kind = value.type
            if isinstance(kind, TensorType) and self._is_there(kind):
                if self._is_touched(value):
                    return WRITTEN
            elif is_counted and self._is_in_graph(value):
                continue
            elif not isinstance(kind, NumberType) or kind.tag or kind.kind == "complex":
                return NO_TENSOR
        inside = (self._why_not_inside(inner) for block in op.blocks for inner in block.ops)
        reason = next((f"holds an op that {reason}" for reason in inside if reason), "")
        if not reason and not is_counted and any(map(draws, with_inner_ops([op]))):
            return "holds an op that draws random numbers"
        return reason

    def _why_not_inside(self, op: Op) -> str:
        """Why a block of a graph cannot hold `op`; sizes are checked while it is recorded."""
        if op.name == DEMAND:
            return "" if not self._device_numbers(op) else "is checked by the host"
        if op in self._limited and not self._is_counted(op):
            return GROWS
        if kind_of(op) in ("branch", "loop"):
            return self._why_not_blocks(op, is_inside=True)
        return self._why_not(op)

    def _is_of_host(self, op: Op) -> bool:
        """Whether `op` computes or compares integers that the host has."""
        given = {value.type for value in values_in(op.args)}
        if self._device_numbers(op):
            return False
        if op.name in LOGIC:
            return given <= {NumberType("bool")}
        if given - {NumberType("int")}:
            return False
        return (op.name in INTEGERS and family_of(op) == "cheap") or op.name in ORDERED

    def _is_counted(self, op: Op) -> bool:
        """Whether the host can tell how many iterations a loop has, from integers alone."""
        if kind_of(op) != "loop":
            return False
        first, again = tests_of(op)
        makers = {v: inner for inner in op.blocks[0].ops for v in inner.results}
        if not isinstance(again, Value) or not isinstance(first, Value | bool):
            return False
        is_plain = again in makers and self._is_of_host(makers[again])
        return is_plain and not (isinstance(first, Value) and self._fact(first).on_device)

    def _is_in_graph(self, value: Value) -> bool:
        """Whether a value is a list of tensors that may be in a graph."""
        kind = value.type.element if isinstance(value.type, ListType) else None
        return isinstance(kind, TensorType) and kind.dtype in DENSE and self._is_there(kind)


def _with_whole_lists(block: Block, found: Sequence[str], here: set[Value]) -> list[str]:
    """The reasons, and one for what has to do with a list that a region would not hold as a whole.

    Lists that one op has to do with are taken to be one.
    """
    reasons, places = list(found), [set(lists_of(op)) for op in block.ops]
    given = set(values_in(block.outputs))
    for number, lists in enumerate(places):
        if not lists or found[number]:
            continue
        together = set(lists)
        members = {number}
        while True:
            more = {n for n, others in enumerate(places) if others & together}
            together.update(*(places[n] for n in more))
            if more == members:
                break
            members = more
        is_whole = here >= together and not together & given
        if not is_whole or any(found[min(members) : max(members) + 1]):
            reasons[number] = "has to do with a list that is needed outside"
    return reasons


def draws(op: Op) -> bool:
    """Whether `op` draws random numbers."""
    return row_of(op.name).random and not is_off(op)


def _leaves_trace(op: Op) -> bool:
    return draws(op) or leaves_trace(op) or may_raise(op) or is_effect(op) or kind_of(op) == "call"


def _is_launched(op: Op) -> bool:
    return not is_stators(op.name) and family_of(op) != "cheap"


def _are_of_kind(args: Sequence[Arg], kind: Type) -> bool:
    """Whether all these numbers are of one kind."""
    return all((a.type if isinstance(a, Value) else KINDS.get(type(a))) == kind for a in args)


def _is_exact(op: Op, number: Value) -> bool:
    """Whether an op with a tensor and a number computes the same with the number in a tensor."""
    tensor = next(v.type for v in values_in(op.args) if isinstance(v.type, TensorType))
    if tensor.dtype in FLOATS:
        return True
    return tensor.dtype == "int64" and number.type in (NumberType("int"), NumberType("bool"))


def _made_in(op: Op) -> Iterator[Value]:
    """The values that `op` makes, those of its blocks included."""
    for inner in with_inner_ops([op]):
        yield from inner.results
        for block in inner.blocks:
            yield from block.inputs
