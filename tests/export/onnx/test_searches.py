"""Ops that torch's function library lacks: sorting, medians, places in rows, masks, distances."""

import pytest
import torch
from torch.nn import functional as F  # noqa: N812

import stator
from stator import InputSpec
from stator.errors import ExportError

SEEDED = torch.Generator().manual_seed(0)
X, Y, V = (torch.randn(*shape, generator=SEEDED) for shape in ((4, 6), (5, 6), (6,)))
WHOLE = torch.tensor([3, 1, 2, 1, 3, 1, 2])
FUNCTIONS = {
    "stable sort": (lambda x: x.sort(stable=True), WHOLE),
    "stable sort, descending": (
        lambda x: torch.sort(x, stable=True, dim=0, descending=True),
        WHOLE,
    ),
    "median": (lambda x: x.median(), WHOLE),
    "median of an even number": (lambda x: x.median(), X),
    "median along a dimension": (lambda x: x.median(1, keepdim=True), X),
    "kthvalue": (lambda x: x.kthvalue(3, 0), X),
    "quantile": (lambda x: torch.quantile(x, 0.3, dim=1), X),
    "one_hot": (F.one_hot, WHOLE),
    "hypot": (lambda x, y: torch.hypot(x * 1e30, y), X, V),
    "hypot of zeros, infinities and NaN": (
        lambda x: torch.hypot(x[:, 0], x[:, 1]).nan_to_num(-1.0, posinf=9.0),
        torch.tensor([[0.0, 0.0], [float("inf"), float("nan")], [1.0, float("nan")]]),
    ),
    "copysign": (lambda x, y: torch.copysign(x, y), X, V * torch.tensor([0.0, -0.0, 1, 1, -1, 1])),
    "nanmean": (lambda x: torch.where(x > 0, x, float("nan")).nanmean(1), X),
    "label smoothing": (
        lambda x, y: F.cross_entropy(x, y.long().abs(), label_smoothing=0.1),
        X,
        X[:, 0].contiguous(),
    ),
    "searchsorted": (lambda x: torch.searchsorted(torch.tensor([-1.0, 0.0, 1.0]), x), X),
    "searchsorted by row": (
        lambda x, y: torch.searchsorted(x.sort(1)[0], y, right=True),
        X,
        X[:, :3].contiguous(),
    ),
    "searchsorted of NaN": (
        lambda x: torch.searchsorted(torch.tensor([-1.0, 0.0, 1.0]), x / x),
        torch.tensor([0.0, 2.0]),
    ),
    "bucketize": (lambda x: torch.bucketize(x, torch.tensor([-1.0, 0.0, 1.0]), right=True), X),
    "masked_select": (lambda x, y: x.masked_select(y > 0), X, V),
    "cosine_similarity": (lambda x, y: F.cosine_similarity(x[:, None], y[None], dim=-1), X, Y),
    "cosine_similarity of zeros": (lambda x: F.cosine_similarity(x * 0, x), X),
    "logsigmoid": (lambda x: F.logsigmoid(x * 50), X),
    **{
        f"cdist, p={p}": (lambda x, y, p=p: torch.cdist(x, y, p=p), X, Y)
        for p in (0.0, 1.0, 2.0, 3.0, float("inf"))
    },
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_it_is_what_torch_gives(name, tmp_path):
    function, *args = FUNCTIONS[name]
    spec = [InputSpec([None, *x.shape[1:]], str(x.dtype).removeprefix("torch.")) for x in args]
    if name.startswith(("searchsorted by row", "masked", "quantile")):
        spec = args
    stator.save(function, tmp_path / "f", input_spec=spec, onnx=True)
    found = stator.load(tmp_path / "f", backend="onnxruntime")(*args)
    torch.testing.assert_close(found, function(*args))


@pytest.mark.parametrize("shown", ["Class values must be non-negative", "from empty tensor"])
def test_classes_raise_as_in_torch(shown, tmp_path):
    stator.save(F.one_hot, tmp_path / "f", input_spec=[InputSpec([None], "int64")], onnx=True)
    loaded = stator.load(tmp_path / "f", backend="onnxruntime")
    for call in (F.one_hot, loaded):
        with pytest.raises(RuntimeError, match=shown):
            call(WHOLE - 3 if "negative" in shown else WHOLE[:0])


def test_a_sorter_is_refused(tmp_path):
    def places(x):
        return torch.searchsorted(x, x, sorter=x.argsort())

    with pytest.raises(ExportError) as caught:
        stator.save(places, tmp_path / "f", input_spec=[V], onnx=True)
    assert caught.value.problem == "aten::searchsorted.Tensor with a sorter: sort the row first"


def test_what_torch_takes_apart_with_checks_is_refused_by_name(tmp_path):
    with pytest.raises(ExportError) as caught:
        stator.save(torch.inverse, tmp_path / "f", input_spec=[torch.eye(3)], onnx=True)
    wanted = "aten::inverse has no counterpart in torch's function library for ONNX"
    assert caught.value.problem == wanted


def test_unsorted_elements_are_reported(tmp_path):
    def places(x, values):
        return torch.searchsorted(x, values)

    spec = [InputSpec([None]), InputSpec([None])]
    stator.save(places, tmp_path / "f", input_spec=spec, onnx=True)
    run = stator.load(tmp_path / "f", backend="onnxruntime")
    values, ordered = torch.tensor([0.5, 2.5]), torch.tensor([1.0, 2.0, 3.0])
    torch.testing.assert_close(run(ordered, values), places(ordered, values))
    with pytest.raises(ValueError, match="searchsorted of unsorted elements"):
        run(ordered.flip(0), values)
