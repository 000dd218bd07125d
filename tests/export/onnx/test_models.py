"""ONNX files: what ONNX Runtime computes is what eager code computes, or the save is refused."""

import json
import os
import subprocess
import sys

import onnx
import onnxruntime
import pytest
import torch

import stator
from stator import InputSpec
from stator.errors import ExportError


def saved(function, tmp_path, spec, **options):
    path = tmp_path / "model"
    stator.save(function, path, input_spec=spec, onnx=True, **options)
    return path, stator.load(path, backend="onnxruntime")


def same(function, tmp_path, *calls, spec=None):
    """Eager and ONNX Runtime agree on all `calls`."""
    _, loaded = saved(function, tmp_path, spec or list(calls[0]))
    for call in calls:
        given = [arg.clone() if isinstance(arg, torch.Tensor) else arg for arg in call]
        torch.testing.assert_close(loaded(*given), function(*call), rtol=1e-4, atol=1e-5)


def collatz(n):
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return n, steps


def test_a_loop_with_a_branch_is_one_file(tmp_path):
    same(collatz, tmp_path, *[(torch.tensor(k),) for k in (1, 6, 7, 27)])


def test_python_numbers_keep_the_meaning_of_python(tmp_path):
    def divide(n, m):
        a, b = n.item(), m.item()
        return a // b, a % b, a / b, -a // b, abs(a) ** 2, min(a, b), a if a > b else b

    calls = [(torch.tensor(a), torch.tensor(b)) for a in (-7, 7, 0) for b in (3, -3)]
    same(divide, tmp_path, *calls)


def test_floats_divide_as_in_python(tmp_path):
    def divide(n, m):
        a, b = n.item(), m.item()
        return a // b, a % b

    pairs = [(7.5, 2.0), (-7.5, 2.0), (7.5, -2.0), (-0.0, 3.0), (1e15, 7.0)]
    same(
        divide,
        tmp_path,
        *[
            (torch.tensor(a, dtype=torch.double), torch.tensor(b, dtype=torch.double))
            for a, b in pairs
        ],
    )


def test_a_division_by_zero_is_reported(tmp_path):
    def divide(n):
        return 10 // n.item()

    _, loaded = saved(divide, tmp_path, [torch.tensor(2)])
    assert loaded(torch.tensor(3)) == 3
    with pytest.raises(ZeroDivisionError):
        loaded(torch.tensor(0))


def test_named_sizes_are_checked_and_python_values_are_inputs(tmp_path):
    def mixed(x, y, n, flag, eps):
        result = x * n + y
        return result + eps if flag else result

    spec = [
        InputSpec(["batch"]), InputSpec(["batch"]), InputSpec.int(), InputSpec.bool(),
        InputSpec.float(),
    ]  # fmt: skip
    x, y = torch.randn(3), torch.randn(3)
    same(mixed, tmp_path, (x, y, 3, True, 0.25), (x[:1], y[:1], -2, False, 0.5), spec=spec)
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    assert [one.shape for one in session.get_inputs()] == [["batch"], ["batch"], [], [], []]
    given = {"x": x, "y": y[:1], "n": torch.tensor(3), "flag": torch.tensor(True),
             "eps": torch.tensor(0.25, dtype=torch.float64)}  # fmt: skip
    *_, status = session.run(None, {name: value.numpy() for name, value in given.items()})
    assert status == 1  # ONNX Runtime itself takes any sizes


def test_an_input_may_be_none(tmp_path):
    def moved(x, by: int | None, name: str | None):
        if name == "back":
            x = -x
        return (x * 2 if by is None else x + by), name

    x, spec = torch.randn(3), {"x": InputSpec([None])}
    calls = [(x, None, None), (x, 3, "back"), (x, None, ""), (x, -3, None)]
    _, loaded = saved(moved, tmp_path, spec)
    for call in calls:
        given, wanted = loaded(*call), moved(*call)
        torch.testing.assert_close(given[0], wanted[0])
        assert given[1] == wanted[1]


def test_an_integer_that_does_not_fit_is_reported(tmp_path):
    def square(n):
        return n.item() * n.item()

    _, loaded = saved(square, tmp_path, [torch.tensor(2)])
    assert loaded(torch.tensor(3 * 10**9)) == 9 * 10**18
    with pytest.raises(stator.errors.IntegerOverflow):
        loaded(torch.tensor(4 * 10**9))


def test_an_assert_is_raised_with_its_message(tmp_path):
    def checked(x):
        for row in x:
            assert row.sum() > 0, "must be positive"
        return x * 2

    path, loaded = saved(checked, tmp_path, [stator.InputSpec([None, 2])])
    assert torch.equal(loaded(torch.ones(3, 2)), torch.full((3, 2), 2.0))
    with pytest.raises(AssertionError, match="must be positive"):
        loaded(-torch.ones(3, 2))
    model = onnx.load(str(path) + ".onnx", load_external_data=False)
    assert model.graph.output[-1].name == "status"
    messages = json.loads({p.key: p.value for p in model.metadata_props}["stator.messages"])
    assert messages[0]["text"] == "must be positive"
    assert messages[0]["place"][0] == "test_models.py"


def test_none_or_a_tensor_is_a_union(tmp_path):
    def last(x):
        best = None
        for row in x:
            if row.sum() > 0:
                best = row
        return best

    _, loaded = saved(last, tmp_path, [stator.InputSpec([None, 2])])
    x = torch.tensor([[1.0, 2.0], [-1.0, -2.0]])
    assert torch.equal(loaded(x), x[0])
    assert loaded(-x[:1]) is None


class EarlyExit(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList([torch.nn.Linear(4, 4) for _ in range(3)])

    def forward(self, x, limit):
        for layer in self.layers:
            x = layer(x).relu()
            if x.mean() > limit:
                return x.softmax(-1)
        return x


def test_a_result_that_is_not_there_yet_may_have_any_size(tmp_path):
    torch.manual_seed(0)
    spec = [stator.InputSpec([None, 4]), stator.InputSpec([])]
    limits = (torch.tensor(-1.0), torch.tensor(0.2), torch.tensor(9.0))
    calls = [(torch.randn(rows, 4), limit) for rows in (3, 1, 2) for limit in limits]
    same(EarlyExit().eval(), tmp_path, *calls, spec=spec)


def test_a_list_of_rows_that_grows(tmp_path):
    def kept(x):
        rows = []
        for row in x:
            if row.sum() > 0:
                rows.insert(0, row)
        return rows, len(rows)

    spec = [stator.InputSpec([None, 2])]
    x = torch.randn(5, 2, generator=torch.Generator().manual_seed(0))
    same(kept, tmp_path, (x,), (-x,), (x[:0],), spec=spec)


SPECIAL = torch.tensor([[1.0, float("nan"), -2.0], [float("inf"), 0.5, float("-inf")]])


@pytest.mark.parametrize(
    "function",
    [torch.sign, torch.isnan, lambda x: x.clamp(min=0.0), lambda x: x // 2.5, lambda x: x % 2.5],
)
def test_nan_and_infinity_mean_the_same(function, tmp_path):
    _, loaded = saved(function, tmp_path, [SPECIAL])
    torch.testing.assert_close(loaded(SPECIAL), function(SPECIAL), equal_nan=True)


@pytest.mark.parametrize("name", ["max", "argmax", "sort", "amax"])
def test_an_order_of_nan_is_an_error(name, tmp_path):
    def ordered(x):
        return getattr(x, name)(1)

    _, loaded = saved(ordered, tmp_path, [torch.ones(2, 3)])
    x = torch.arange(6.0).reshape(2, 3)
    for found, wanted in zip([*loaded(x)], [*ordered(x)], strict=True):
        assert torch.equal(found, wanted)
    with pytest.raises(RuntimeError, match="NaN"):
        loaded(SPECIAL)


class Counter(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(()))
        self.fc = torch.nn.Linear(2, 2)

    def forward(self, x):
        if x.sum() > 0:
            self.count += 1
        return self.fc(x) * self.count


def test_a_buffer_is_kept_between_calls(tmp_path):
    torch.manual_seed(0)
    model = Counter().eval()
    path, loaded = saved(model, tmp_path, [torch.ones(1, 2)])
    for x in (torch.ones(1, 2), -torch.ones(1, 2), torch.ones(1, 2)):
        torch.testing.assert_close(loaded(x), model(x))
    assert loaded.state["count"] == 2
    names = [item.name for item in onnx.load(f"{path}.onnx", load_external_data=False).graph.output]
    assert names == ["output_0", "count.next"]


def test_the_weights_are_stored_once(tmp_path):
    model = torch.nn.Linear(64, 64).eval()
    path, _ = saved(model, tmp_path, [torch.ones(1, 64)])
    (weight, *_) = onnx.load(f"{path}.onnx", load_external_data=False).graph.initializer
    assert {entry.key: entry.value for entry in weight.external_data}[
        "location"
    ] == "model.safetensors"
    small = (tmp_path / "model.onnx").stat().st_size
    stator.save(model, path, [torch.ones(1, 64)], onnx=True, embed=True)
    assert (tmp_path / "model.onnx").stat().st_size > small + 64 * 64 * 4


def test_a_write_to_an_argument_is_done(tmp_path):
    def bump(x):
        x[0] += 1
        return x.sum()

    _, loaded = saved(bump, tmp_path, [torch.zeros(3)])
    x = torch.zeros(3)
    assert loaded(x) == 1
    assert x.tolist() == [1, 0, 0]


def test_a_recursion_is_unrolled(tmp_path):
    def halvings(n):
        if n <= 1:
            return 0
        return 1 + halvings(n // 2)

    same(halvings, tmp_path, (torch.tensor(9),), (torch.tensor(1),))


def random_numbers(x):
    return x + torch.rand(2)


def caught(x):
    try:
        return x[int(x.sum())]
    except IndexError:
        return x[0]


@pytest.mark.parametrize("function", [random_numbers, caught])
def test_what_onnx_cannot_hold_is_refused_before_a_file_is_written(function, tmp_path):
    with pytest.raises(ExportError) as refused:
        stator.save(function, tmp_path / "model", [torch.ones(2)], onnx=True)
    assert refused.value.at is not None
    assert refused.value.at.file == __file__
    assert list(tmp_path.iterdir()) == []


def test_what_a_model_leaves_out_is_in_the_report(tmp_path):
    def talk(x):
        print("sum", x.sum())
        return x * 2

    (report,) = stator.save(talk, tmp_path / "model", [torch.ones(2)], onnx=True)
    assert len(report.dropped) == 1
    assert report.dropped[0].startswith("print(sum …)")
    assert "onnx.checker" in str(report)


def test_the_opset_can_be_chosen(tmp_path):
    stator.save(collatz, tmp_path / "model", [torch.tensor(6)], onnx=True, opset=18)
    assert onnx.load(tmp_path / "model.onnx").opset_import[0].version == 18
    with pytest.raises(ExportError, match="opset 9 is older"):
        stator.save(collatz, tmp_path / "model", [torch.tensor(6)], onnx=True, opset=9)


def test_a_model_without_its_onnx_file_says_how_to_get_one(tmp_path):
    stator.save(collatz, tmp_path / "model", [torch.tensor(6)])
    with pytest.raises(stator.errors.FormatError, match=r"model\.onnx does not exist"):
        stator.load(tmp_path / "model", backend="onnxruntime")


SCRIPT = """
import sys, torch, stator
sys.path.insert(0, {here!r})
torch.manual_seed(0)


def until(x, n):
    rows = []
    while x.sum() < 100 and len(rows) < n:
        x = x * 2 if x.max() > 3 else x + torch.einsum("i,j->i", x, x).diff(prepend=x[:1])
        rows.append(x.sum())
    return x, rows


folder = sys.argv[1]
stator.save(torch.nn.LSTMCell(3, 4).eval(), folder + "/cell", [torch.ones(1, 3)], onnx=True)
spec = [stator.InputSpec([None]), stator.InputSpec.int()]
stator.save(until, folder + "/loop", spec, onnx=True)
"""


@pytest.mark.slow
def test_two_hash_seeds_give_the_same_bytes(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(here=str(tmp_path)))
    found = []
    for seed in ("1", "2"):
        folder = tmp_path / seed
        folder.mkdir()
        subprocess.run(
            [sys.executable, str(script), str(folder)],
            check=True, env={**os.environ, "PYTHONHASHSEED": seed},
        )  # fmt: skip
        found.append({name: (folder / name).read_bytes() for name in ("cell.onnx", "loop.onnx")})
    assert found[0] == found[1]


def layers():
    torch.manual_seed(0)
    nn = torch.nn
    return {
        "cnn": (nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(),
                              nn.MaxPool2d(2), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                              nn.Linear(8, 5)), torch.randn(2, 3, 8, 8)),
        "attention": (nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), torch.randn(2, 5, 8)),
        "norms": (nn.Sequential(nn.LayerNorm(8), nn.GELU(), nn.Linear(8, 8), nn.GroupNorm(2, 8),
                                nn.Softmax(-1)), torch.randn(3, 8)),
    }  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cnn", "attention", "norms"])
def test_layers_equal_eager(name, tmp_path):
    module, x = layers()[name]
    module.eval()
    _, loaded = saved(module, tmp_path, [x])
    torch.testing.assert_close(loaded(x), module(x), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int64])
def test_a_number_less_a_tensor(dtype, tmp_path):
    def less(x, n):
        whole, part = n.item(), n.item() / 3
        return 1 - x, 1.5 - x, whole - x, part - x, torch.rsub(x, 7, alpha=2), torch.rsub(x, n)

    calls = [(torch.tensor([3, -4]).to(dtype), torch.tensor(k)) for k in (5, -1)]
    same(less, tmp_path, *calls)
