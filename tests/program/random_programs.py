"""Random programs that are well typed: numbers, tensors, lists, branches, loops, functions."""

from __future__ import annotations

from hypothesis import strategies as st

from stator.program.types import ListType, TextType
from tests.program.builder import BOOL, FLOAT, INT, Builder, tensor

VECTOR, INTS, TEXT = tensor(2), ListType(INT), TextType()
DEPTH = 2  # blocks inside each other


@st.composite
def programs(draw):
    """A program of a few ops; each result may be used by those after it."""
    return _Drawing(draw).program()


class _Drawing:
    def __init__(self, draw):
        self.draw, self.build = draw, Builder("drawn")
        inputs = {"x": VECTOR, "n": INT, "p": FLOAT, "b": BOOL, "items": INTS}
        self.seen = [self.build.input(name, kind) for name, kind in inputs.items()]

    def program(self):
        self.function()
        self.ops(0)
        outputs = self.draw(st.lists(st.sampled_from(self.seen), min_size=1, max_size=4))
        return self.build.program(*outputs)

    def any(self, kind):
        """A value of that type that is in sight, or a constant."""
        constants = {INT: [0, 1, 2], FLOAT: [0.5, 2.0], BOOL: [True, False]}.get(kind, [])
        return self.draw(st.sampled_from([*constants, *(v for v in self.seen if v.type == kind)]))

    def op(self, name, *kinds, gives):
        made = self.build.op(name, *map(self.any, kinds), gives=gives)
        self.seen.append(made)
        return made

    def ops(self, depth):
        simple = [self.number, self.tensor, self.list]
        nested = [self.branch, self.loop, self.attempt] if depth < DEPTH else []
        for step in self.draw(st.lists(st.sampled_from([*simple, *nested]), max_size=4)):
            step(depth) if step in nested else step()

    def number(self):
        names = ("stator::add", "stator::mul", "stator::min", "stator::floordiv")
        self.op(self.draw(st.sampled_from(names)), INT, INT, gives=INT)
        self.op("stator::lt", INT, FLOAT, gives=BOOL)
        self.op("stator::truediv", FLOAT, INT, gives=FLOAT)

    def tensor(self):
        name = self.draw(st.sampled_from(("aten::add.Tensor", "aten::mul.Tensor")))
        self.op(name, VECTOR, VECTOR, gives=VECTOR)
        self.op("aten::relu", VECTOR, gives=VECTOR)

    def list(self):
        self.op("stator::list_append", INTS, INT, gives=INTS)
        self.op("stator::list_get", INTS, INT, gives=INT)
        self.op("stator::list_length", INTS, gives=INT)

    def block(self, depth, kinds, *inputs):
        before = list(self.seen)
        with self.build.block(*inputs) as block:
            self.seen.extend(inputs)
            self.ops(depth + 1)
            block.outputs = tuple(map(self.any, kinds))
        self.seen = before
        return block

    def branch(self, depth):
        kinds = self.draw(st.lists(st.sampled_from((VECTOR, INT, INTS)), max_size=2))
        blocks = [self.block(depth, kinds), self.block(depth, kinds)]
        self.seen += self.build.op("stator::if", self.any(BOOL), gives=kinds, blocks=blocks)

    def loop(self, depth):
        kinds = self.draw(st.lists(st.sampled_from((VECTOR, INT, INTS)), max_size=2))
        start = (self.any(BOOL), *map(self.any, kinds))
        body = self.block(depth, (BOOL, *kinds), *map(self.build.value, kinds))
        self.seen += self.build.op("stator::while", *start, gives=kinds, blocks=[body])

    def attempt(self, depth):
        kinds = [INT]
        body = self.block(depth, kinds)
        caught = (self.build.value(TEXT), self.build.value(TEXT))
        handler = self.block(depth, kinds, *caught)
        self.seen += self.build.op(
            "stator::try", gives=kinds, blocks=[body, handler],
            number=self.build.count, catches=(("Exception",),), asks=((),),
        )  # fmt: skip

    def function(self):
        m = self.build.value(INT)
        with self.build.block(m) as block:
            block.outputs = (self.build.op("stator::mul", m, 2, gives=INT),)
        self.build.function("twice", block)
        self.seen.append(self.build.op("stator::call", self.seen[1], function="twice", gives=INT))
