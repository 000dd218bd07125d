"""InputSpec: sizes, dtypes, names, and the texts for what is none."""

import numpy
import pytest
import torch

import stator
from stator import InputSpec
from stator.errors import SizeCheckFailed, SpecMismatch
from tests.said import said


def test_none_and_minus_one_both_mean_any_size():
    assert InputSpec([None, 3]).shape == InputSpec([-1, 3]).shape == (None, 3)


def test_zero_is_a_size():
    assert InputSpec([0]).shape == (0,)


def test_a_dtype_can_be_named_or_given():
    assert InputSpec([2], "int64").dtype is InputSpec([2], torch.int64).dtype is torch.int64


def test_the_default_dtype_is_float32():
    assert InputSpec([2]).dtype is torch.float32


@pytest.mark.parametrize("size", [-2, 1.5, "3", "a b", "", True])
def test_a_bad_size_is_refused_by_its_text(size):
    with pytest.raises(SpecMismatch) as caught:
        InputSpec([size])
    assert said(caught.value) == (
        f"[ST301] {size!r} is not a size\n  fix: give a number >= 0, "
        'a name such as "batch", or None for any size'
    )


@pytest.mark.parametrize("shape", ["batch", 3, None])
def test_a_shape_that_is_no_list_is_refused_by_its_text(shape):
    with pytest.raises(SpecMismatch) as caught:
        InputSpec(shape)
    assert said(caught.value) == (
        f"[ST301] {shape!r} is not a shape\n  fix: give a list of sizes: [None, 8]"
    )


@pytest.mark.parametrize("dtype", ["float33", "Tensor", None, float])
def test_a_bad_dtype_is_refused_by_its_text(dtype):
    with pytest.raises(SpecMismatch) as caught:
        InputSpec([1], dtype)
    assert said(caught.value) == (
        f'[ST301] {dtype!r} is not a dtype\n  fix: give one such as "float32" or "int64"'
    )


def test_from_tensor_takes_shape_dtype_and_whether_it_trains():
    spec = InputSpec.from_tensor(torch.ones(2, 3, requires_grad=True), "x")
    assert (spec.shape, spec.dtype, spec.name) == ((2, 3), torch.float32, "x")
    assert spec.stop_gradient is False


def test_from_numpy_takes_shape_and_dtype():
    spec = InputSpec.from_numpy(numpy.zeros((2, 3), dtype=numpy.int64), "x")
    assert spec == InputSpec([2, 3], "int64", "x")


def test_batch_puts_a_dimension_in_front_and_unbatch_takes_it_away():
    spec = InputSpec([3], "int64", "x")
    assert spec.batch(8).shape == (8, 3)
    assert spec.batch(None).shape == (None, 3)
    assert spec.batch(8).unbatch() == spec


def test_batch_leaves_the_spec_itself_as_it_was():
    spec = InputSpec([3])
    spec.batch(8)
    assert spec.shape == (3,)


def test_a_spec_without_dimensions_cannot_be_unbatched():
    with pytest.raises(SpecMismatch) as caught:
        InputSpec([], "int64").unbatch()
    assert said(caught.value) == (
        "[ST301] InputSpec([], 'int64') has no dimension to remove\n"
        "  fix: unbatch a spec with at least one dimension"
    )


def test_equal_specs_hash_alike_and_differ_by_name():
    assert hash(InputSpec([None, 3])) == hash(InputSpec([-1, 3]))
    assert InputSpec([3]) != InputSpec([3], name="x")
    assert InputSpec([3]) != (3,)


def test_the_repr_tells_shape_dtype_and_name():
    assert repr(InputSpec([None, 3], "int64")) == "InputSpec([None, 3], 'int64')"


def test_the_capture_reads_it_on_the_default_device_unless_told():
    assert InputSpec([3]).tensor_spec().device == torch.get_default_device()
    assert InputSpec([3]).tensor_spec(torch.device("meta")).device.type == "meta"


def test_a_size_may_have_a_name():
    spec = InputSpec(["batch", None, 8])
    assert repr(spec) == "InputSpec(['batch', None, 8], 'float32')"
    assert spec != InputSpec([None, None, 8])
    assert InputSpec([8]).batch("batch").shape == ("batch", 8)
    given = spec.tensor_spec()
    assert (given.shape, given.size_names) == ((None, None, 8), ("batch", None, None))
    assert str(given) == "float32[batch, any, 8]"


def test_python_values_have_specs():
    specs = [InputSpec.int("n"), InputSpec.float(), InputSpec.bool("flag"), InputSpec.str()]
    assert [spec.kind for spec in specs] == ["int", "float", "bool", "str"]
    assert repr(specs[:2]) == "[InputSpec.int('n'), InputSpec.float()]"
    assert InputSpec.int("n") == InputSpec.int("n") != InputSpec.int()
    optional = [InputSpec.int("n", optional=True), InputSpec.str(optional=True)]
    assert repr(optional) == "[InputSpec.int('n', optional=True), InputSpec.str(optional=True)]"
    assert [str(spec) for spec in optional] == ["int or None", "str or None"]


@pytest.mark.parametrize("backend", ["interpreter", None])  # None: the default
@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        (1, "this needs x.shape[0] >= 2: the range of `batch`"),
        (2, None),
        (4, None),
        (5, "this needs x.shape[0] <= 4: the range of `batch`"),
    ],
)
def test_a_size_with_a_range_is_checked_by_each_run(tmp_path, backend, rows, problem):
    spec = [InputSpec(["batch"], name="x", ranges={"batch": (2, 4)}), InputSpec(["batch"])]
    stator.save(lambda x, y: x + y, tmp_path / "m", spec)
    model, x = stator.load(tmp_path / "m", backend=backend), torch.ones(rows)
    if problem is None:
        assert torch.equal(model(x, x), x + x)
        return
    with pytest.raises(SizeCheckFailed) as caught:
        model(x, x)
    assert caught.value.problem == problem


def test_ranges_belong_to_the_spec_and_its_names():
    spec = InputSpec(["batch", 3], ranges={"batch": (1, None)})
    assert spec != InputSpec(["batch", 3])
    assert spec.batch(2).ranges == spec.ranges
    assert spec.unbatch().ranges == {}
    assert repr(spec) == "InputSpec(['batch', 3], 'float32', ranges={'batch': (1, None)})"


@pytest.mark.parametrize(
    ("ranges", "problem", "fix"),
    [
        ({"b": (1, 2)}, "no size of the spec has the name 'b'",
         "give it to a size: InputSpec(['b', ...])"),
        ({"batch": (3, 1)}, "the range (3, 1) of 'batch' is empty", "give the least size first"),
        ({"batch": 3}, "3 is not a range of sizes",
         "give the least and the greatest size, or None for no bound"),
        ({"batch": (0.5, 1)}, "(0.5, 1) is not a range of sizes",
         "give the least and the greatest size, or None for no bound"),
    ],
)  # fmt: skip
def test_a_wrong_range_is_refused(ranges, problem, fix):
    with pytest.raises(SpecMismatch) as caught:
        InputSpec(["batch"], ranges=ranges)
    assert (caught.value.problem, caught.value.fix) == (problem, fix)
