"""A tiny builder of programs for tests: `build = Builder(); x = build.input("x", tensor(2))`."""

from contextlib import contextmanager

from stator.location import Location
from stator.program.ir import Block, Op, StoredTensor, Value
from stator.program.program import Program
from stator.program.sizes import Symbol
from stator.program.structure import Leaf, Sequence
from stator.program.types import NumberType, TensorType

INT, FLOAT, BOOL = NumberType("int"), NumberType("float"), NumberType("bool")


def tensor(*shape, dtype="float32"):
    """A type; a name among the sizes is a symbol."""
    sizes = (Symbol(size) if isinstance(size, str) else size for size in shape)
    return TensorType(dtype, tuple(sizes))


class Builder:
    """Collects ops into the block on top of a stack; names are given in order."""

    def __init__(self, name="test"):
        self.name, self.inputs, self.stored, self.functions = name, [], [], {}
        self.stack = [Block()]
        self.count = 0

    def value(self, kind, name=None):
        self.count += 1
        return Value(name or f"v{self.count}", kind)

    def input(self, name, kind):
        self.inputs.append(self.value(kind, name))
        return self.inputs[-1]

    def store(self, name, kind, role="parameter"):
        self.stored.append(StoredTensor(self.value(kind, name.replace(".", "_")), name, role))
        return self.stored[-1].value

    def op(self, name, *args, gives=(), blocks=(), line=None, **attributes):
        """Adds an op; `gives` is one type (a Value comes back) or a list of them (a tuple)."""
        kinds = gives if isinstance(gives, tuple | list) else [gives]
        results = tuple(self.value(kind) for kind in kinds)
        place = Location("model.py", line, 4, "forward") if line else None
        self.stack[-1].ops.append(Op(name, args, attributes, results, tuple(blocks), place))
        return results if isinstance(gives, tuple | list) else results[0]

    @contextmanager
    def block(self, *inputs):
        """An inner block: ops go there; set its `outputs` before it ends."""
        self.stack.append(Block(tuple(inputs)))
        yield self.stack[-1]
        self.stack.pop()

    def function(self, name, block):
        self.functions[name] = block

    def program(self, *outputs, inputs=None, structure=None):
        self.stack[0].outputs = outputs
        leaves = tuple(Leaf(index) for index in range(len(outputs)))
        taken = tuple(Leaf(index) for index in range(len(self.inputs)))
        return Program(
            self.name,
            tuple(self.inputs),
            tuple(self.stored),
            self.stack[0],
            inputs or Sequence("tuple", taken),
            structure or Sequence("tuple", leaves),
            self.functions,
        )
