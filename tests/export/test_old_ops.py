"""Files from before some list ops were replaced are read, and mean the same."""

import pytest

from stator.execute.interpreter import run
from stator.export.checking import Damage
from stator.export.decoding import decode_program
from stator.export.encoding import encode_program
from stator.export.op_calls import TORCH_DIALECT
from stator.program.types import ListType
from stator.program.verifier import verify
from tests.program.builder import INT, Builder

INTS = ListType(INT)


def old_file(name, *args, gives=INTS, **attributes):
    """The data of a program that calls an op which is gone, on its input `items`."""
    build = Builder()
    items = build.input("items", INTS)
    args = [
        build.op("stator::list_make", *arg, gives=INTS) if isinstance(arg, tuple) else arg
        for arg in args
    ]
    made = build.op(f"stator::{name}", items, *args, gives=gives, **attributes)
    return encode_program(build.program(made, items))


@pytest.mark.parametrize(
    ("name", "args", "expected"),
    [
        ("list_reverse", (), [7, 6, 5]),
        ("list_pop", (0,), [6, 7]),
        ("list_pop", (-1,), [5, 6]),
        ("list_pop", (1,), [5, 7]),
        ("list_extend", ((8, 9),), [5, 6, 7, 8, 9]),
        ("list_repeat", (2,), [5, 6, 7, 5, 6, 7]),
        ("list_repeat", (-1,), []),
        ("list_take", ((2, 0, 2),), [7, 5, 7]),
    ],
)
def test_an_op_of_an_old_file_means_what_it_meant(name, args, expected):
    program = verify(decode_program(old_file(name, *args), "p", TORCH_DIALECT))
    assert run(program, [[5, 6, 7]], {}) == (expected, [5, 6, 7])
    again = verify(decode_program(encode_program(program), "p", TORCH_DIALECT))
    assert run(again, [[5, 6, 7]], {}) == (expected, [5, 6, 7])


@pytest.mark.parametrize(
    ("items", "index", "text"),
    [
        ([], -1, "pop from empty list"),
        ([], 3, "pop from empty list"),
        ([1, 2], 2, "pop index out of range"),
        ([1, 2], -3, "pop index out of range"),
    ],
)
def test_a_pop_of_an_old_file_raises_what_it_raised(items, index, text):
    program = verify(decode_program(old_file("list_pop", index), "p", TORCH_DIALECT))
    with pytest.raises(IndexError) as error:
        run(program, [items], {})
    assert str(error.value) == text


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (old_file("list_pop"), "p.body.ops[0] gives stator::list_pop what it does not take"),
        (
            old_file("list_reverse", sep=1),
            "p.body.ops[0] gives stator::list_reverse what it does not take",
        ),
        (
            old_file("list_repeat", 2, gives=INT),
            "p.body.ops[0] must give a list, as stator::list_repeat does",
        ),
    ],
)
def test_a_damaged_call_of_an_old_op_is_refused(data, text):
    with pytest.raises(Damage) as error:
        decode_program(data, "p", TORCH_DIALECT)
    assert str(error.value) == text
