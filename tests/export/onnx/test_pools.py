"""Pools: divisors, windows that do not fit, and sizes that only a run knows."""

import pytest
import torch
from torch.nn import functional as F  # noqa: N812

import stator
from stator import InputSpec
from stator.errors import ExportError

IMAGE = [None, 2, None, None]
POOLS = {
    "max": lambda x: F.max_pool2d(x, 2),
    "max with places": lambda x: F.max_pool2d(x, 2, return_indices=True),
    "max of parts of windows": lambda x: F.max_pool2d(x, 3, 2, 1, ceil_mode=True),
    "average": lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
    "average with a divisor": lambda x: F.avg_pool2d(x, (2, 3), 2, 1, divisor_override=5),
    "power": lambda x: F.lp_pool2d(x, 2, 2),
}


@pytest.fixture
def run(request, tmp_path):
    stator.save(request.param, tmp_path / "f", input_spec=[InputSpec(IMAGE)], onnx=True)
    return request.param, stator.load(tmp_path / "f", backend="onnxruntime")


@pytest.mark.parametrize("run", POOLS.values(), ids=POOLS, indirect=True)
def test_images_of_several_sizes(run):
    function, model = run
    for sizes in ((1, 5, 4), (0, 6, 6), (3, 3, 3), (2, 1, 1), (1, 1, 7)):
        x = torch.randn(sizes[0], 2, *sizes[1:])
        try:
            wanted = function(x)
        except RuntimeError:
            with pytest.raises(RuntimeError):
                model(x)
        else:
            torch.testing.assert_close(model(x), wanted)


def test_windows_that_do_not_fit(tmp_path):
    def blocks(x):
        return F.unfold(x, 2)

    stator.save(blocks, tmp_path / "f", input_spec=[InputSpec([1, 2, None, None])], onnx=True)
    run = stator.load(tmp_path / "f", backend="onnxruntime")
    x = torch.randn(1, 2, 3, 4)
    torch.testing.assert_close(run(x), blocks(x))
    with pytest.raises(RuntimeError):
        run(x[:, :, :1])


def test_a_divisor_counts_in_three_dimensions(tmp_path):
    def pool(x):
        return F.avg_pool3d(x, 2, stride=1, padding=1, count_include_pad=False, divisor_override=3)

    stator.save(pool, tmp_path / "f", input_spec=[InputSpec([1, 1, 3, 4, 4])], onnx=True)
    x = torch.randn(1, 1, 3, 4, 4)
    torch.testing.assert_close(stator.load(tmp_path / "f", backend="onnxruntime")(x), pool(x))


def test_a_divisor_of_parts_of_windows_is_refused(tmp_path):
    def pool(x):
        return F.avg_pool2d(x, 2, ceil_mode=True, divisor_override=3)

    with pytest.raises(ExportError) as refused:
        stator.save(pool, tmp_path / "f", input_spec=[InputSpec([1, 1, 3, 3])], onnx=True)
    assert refused.value.problem == (
        "aten::avg_pool2d with `divisor_override` has no counterpart in ONNX with `ceil_mode`"
    )
