"""A list is a value, however it is stored: a change at its last use may happen in place."""

import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from stator.execute.backend import RunOptions
from stator.execute.interpreter import run
from stator.execute.list_ops import is_only_owner
from stator.program.ir import Block
from stator.program.printer import print_program
from stator.program.types import ListType, TextType
from stator.program.verifier import verify
from tests.program.builder import BOOL, INT, Builder

INTS = ListType(INT)
LISTS = ListType(INTS)
TEXT = TextType()


def test_an_object_in_one_place_has_one_owner():
    values = {"a": [1], "b": [2]}
    also = values["b"]
    assert is_only_owner(values, "a")
    assert not is_only_owner(values, "b")
    del also
    assert is_only_owner(values, "b")


@pytest.mark.parametrize(
    ("op", "args"),
    [("append", (5,)), ("insert", (0, 5)), ("set", (1, 5)), ("delete", (0,))],
)
def test_the_callers_list_is_not_changed(op, args):
    build = Builder()
    items = build.input("items", INTS)
    changed = build.op(f"stator::list_{op}", items, *args, gives=INTS)
    given_list = [1, 2, 3]
    run(verify(build.program(changed)), [given_list], {})
    assert given_list == [1, 2, 3]


def test_a_list_that_is_used_again_is_not_changed():
    build = Builder()
    first = build.op("stator::list_make", 1, gives=INTS)
    second = build.op("stator::list_append", first, 2, gives=INTS)
    third = build.op("stator::list_append", first, 3, gives=INTS)
    assert run(verify(build.program(first, second, third)), [], {}) == ([1], [1, 2], [1, 3])


def test_a_list_that_a_handler_gets_is_as_it_was_when_it_was_kept():
    build = Builder()
    items = build.op("stator::list_make", 1, gives=INTS)
    with build.block() as body:
        more = build.op("stator::list_append", items, 2, gives=INTS)
        build.op("stator::keep", more, number=0)
        most = build.op("stator::list_append", more, 3, gives=INTS)
        build.op("stator::list_get", most, 9, gives=INT)
        body.outputs = (most,)
    name, text = build.value(TEXT), build.value(TEXT)
    kept = build.value(INTS)
    with build.block(name, text, kept) as handler:
        handler.outputs = (kept,)
    result = build.op(
        "stator::try", items, gives=INTS, blocks=[body, handler],
        number=0, catches=(("IndexError",),), asks=((),),
    )  # fmt: skip
    assert run(verify(build.program(result)), [], {}) == ([1, 2],)


def test_many_appends_take_time_in_proportion_to_their_number():
    build = Builder()
    n = build.input("n", INT)
    start = build.op("stator::list_make", gives=INTS)
    count, items = build.value(INT), build.value(INTS)
    with build.block(count, items) as body:
        even = build.op("stator::eq", build.op("stator::mod", count, 2, gives=INT), 0, gives=BOOL)
        with build.block() as then:
            once = build.op("stator::list_append", items, count, gives=INTS)
            then.outputs = (build.op("stator::list_append", once, count, gives=INTS),)
        more = build.op("stator::if", even, gives=INTS, blocks=[then, Block(outputs=(items,))])
        following = build.op("stator::add", count, 1, gives=INT)
        body.outputs = (build.op("stator::lt", following, n, gives=BOOL), following, more)
    _, result = build.op("stator::while", True, 0, start, gives=[INT, INTS], blocks=[body])
    program = verify(build.program(result))

    def seconds(size):
        begin = time.process_time()
        (made,) = run(program, [size], {})
        assert made == [k for k in range(size) if k % 2 == 0 for _ in range(2)]
        return time.process_time() - begin

    seconds(1000)
    assert min(seconds(20_000) for _ in range(3)) < 30 * min(seconds(2_000) for _ in range(3))


class Drawn:
    """A random program of list ops, branches and loops; every list that it makes may come out."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.build = Builder()
        self.n = self.build.input("n", INT)
        self.lists = [self.build.input("items", INTS)]
        self.tests = [self.build.input("test", BOOL)]

    def program(self):
        self.block(depth=0)
        chosen = self.random.sample(self.lists, self.random.randint(1, len(self.lists)))
        return verify(self.build.program(*chosen))

    def block(self, depth):
        for _ in range(self.random.randint(1, 4)):
            self.statement(depth)

    def statement(self, depth):
        steps = [self.change, self.change, self.change, self.nest]
        steps += [self.branch, self.loop] if depth < 3 else []
        step = self.random.choice(steps)
        step(depth) if step in (self.branch, self.loop) else step()

    def change(self):
        items, op = self.random.choice(self.lists), self.build.op
        match self.random.randint(0, 4):
            case 0 | 1:
                made = op("stator::list_append", items, self.random.randint(0, 9), gives=INTS)
            case 2:
                made = op("stator::list_insert", items, 1, self.n, gives=INTS)
            case 3:
                longer = op("stator::list_append", items, 7, gives=INTS)
                made = op("stator::list_set", longer, 0, 8, gives=INTS)
            case _:
                longer = op("stator::list_append", items, 7, gives=INTS)
                made = op("stator::list_delete", longer, 0, gives=INTS)
        self.lists.append(made)

    def nest(self):
        """A list as an item of another one, and out of it again."""
        items, op = self.random.choice(self.lists), self.build.op
        nested = op("stator::list_make", items, gives=LISTS)
        self.lists.append(op("stator::list_get", nested, 0, gives=INTS))

    def side(self, depth):
        before = list(self.lists)
        with self.build.block() as block:
            self.block(depth + 1)
            block.outputs = (self.random.choice(self.lists), self.random.choice(self.lists))
        self.lists = before
        return block

    def branch(self, depth):
        sides = [self.side(depth), self.side(depth)]
        test = self.random.choice(self.tests)
        self.lists += self.build.op("stator::if", test, gives=[INTS, INTS], blocks=sides)

    def loop(self, depth):
        build, before = self.build, list(self.lists)
        start, iteration, items = self.random.choice(before), build.value(INT), build.value(INTS)
        with build.block(iteration, items) as body:
            self.lists = [*before, items, items]
            self.block(depth + 1)
            following = build.op("stator::add", iteration, 1, gives=INT)
            goes_on = build.op("stator::lt", following, 3, gives=BOOL)
            body.outputs = (goes_on, following, self.random.choice(self.lists))
        self.lists = before
        begins = self.random.choice([True, self.tests[0]])
        made = build.op("stator::while", begins, 0, start, gives=[INT, INTS], blocks=[body])
        self.lists.append(made[1])


@settings(max_examples=300, deadline=None)
@given(some.integers(0, 10**9), some.booleans())
def test_changes_in_place_give_what_copies_give(seed, test):
    program = Drawn(seed).program()
    items = [1, 2]
    result = run(program, [3, items, test], {})
    assert items == [1, 2]
    copied = run(program, [3, items, test], {}, RunOptions(release=False))
    assert result == copied, print_program(program)
