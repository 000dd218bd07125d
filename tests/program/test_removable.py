"""An op goes only if leaving it out can be seen in no way."""

import pytest

from stator.program.ir import Op, Value
from stator.program.opset.queries import is_removable
from stator.program.types import ListType
from tests.program.builder import FLOAT, INT, tensor


def op(name, *args):
    given = tuple(
        Value(f"x{i}", a) if hasattr(a, "__dataclass_fields__") else a for i, a in enumerate(args)
    )
    return Op(name, given, {}, ())


@pytest.mark.parametrize(
    "safe",
    [
        op("aten::relu", tensor("n")),
        op("aten::add.Tensor", tensor("n", 3), tensor(3)),
        op("aten::add.Tensor", tensor("n", 1), tensor("n", "m")),
        op("aten::mul.Tensor", tensor("n"), FLOAT),
        op("aten::sym_size.int", tensor("n"), 0),
        op("aten::transpose.int", tensor("n", "m"), 0, 1),
        op("aten::view", tensor(2, 3), (6,)),
        op("aten::matmul", tensor(2, 3), tensor(3, 4)),
        op("aten::item", tensor(1)),
        op("aten::zeros", (2, 3)),
        op("stator::add", INT, 1),
        op("stator::mod", INT, 2),
        op("stator::floor", INT),
        op("stator::list_append", ListType(INT), 1),
        op("stator::format", FLOAT, None, ""),
    ],
    ids=str,
)
def test_what_cannot_be_seen_may_go(safe):
    assert is_removable(safe)


@pytest.mark.parametrize(
    "seen",
    [
        op("aten::add.Tensor", tensor("n"), tensor("m")),  # sizes may differ
        op("aten::add_.Tensor", tensor(2), tensor(2)),  # writes
        op("aten::rand", (2,)),  # draws
        op("aten::view", tensor("n"), (6,)),  # n may not be 6
        op("aten::matmul", tensor("n", "m"), tensor("k", 4)),
        op("aten::select.int", tensor("n"), 0, 5),  # an index out of range
        op("aten::transpose.int", tensor(2, 2), INT, 1),
        op("aten::embedding", tensor(4, 2), tensor(3, dtype="int64")),
        op("aten::remainder.Tensor", tensor(2, dtype="int64"), tensor(2, dtype="int64")),  # by zero
        op("aten::item", tensor("n")),
        op("aten::zeros", (Value("n", INT),)),  # a negative size
        op("stator::truediv", 1, INT),
        op("stator::mod", INT, 0),
        op("stator::floor", FLOAT),  # of infinity
        op("stator::sqrt", FLOAT),
        op("stator::list_get", ListType(INT), 1),
        op("stator::select", INT, (1, 2)),
        op("stator::format", FLOAT, None, "q"),
        op("stator::print", "x"),
        op("stator::call"),
    ],
    ids=str,
)
def test_what_can_be_seen_stays(seen):
    assert not is_removable(seen)


def test_what_may_have_no_room_in_memory_stays():
    for size, is_gone in ((2**20, True), (2**40, False)):
        made = Op("aten::zeros", ((size,),), {}, (Value("y", tensor(size)),))
        assert is_removable(made) is is_gone
