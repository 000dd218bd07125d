"""A saved model keeps in its state what calls of the original keep in attributes."""

from __future__ import annotations

import collections
import copy
import hashlib
import io
import json
import pickle
import re
from pathlib import Path

import pytest
import torch

import stator
from stator import InputSpec
from stator.errors import CaptureError, ExportError, FormatError, SpecMismatch
from stator.export.saved_model import read_model
from stator.extension import extension
from tests.api import saving_state_models as models
from tests.zoo.comparison import compare

BACKENDS = [
    "interpreter",
    pytest.param("native", marks=pytest.mark.skipif(
        extension() is None, reason="it is not built")),
]  # fmt: skip
X = torch.tensor([[1.0, -2.0, 0.5], [0.25, 3.0, -1.0]])
ROWS = (X, -X, X * 3, X[:1], X + 1)
ANY_ROWS = [InputSpec([None, 3])]
STEPS = tuple(torch.linspace(-1, 1, 8 * n).reshape(2, n, 4) for n in (3, 1, 1, 2))
ANY_STEPS = [InputSpec([2, None, 4])]


def outcome(function, x):
    try:
        return function(x.clone())
    except Exception as error:  # noqa: BLE001 (whatever eager raises is the answer)
        return type(error), str(error)


def saved(model, folder, spec=ANY_ROWS, backend="interpreter", **options):
    stator.save(model, folder / "model", None if "methods" in options else spec, **options)
    return stator.load(folder / "model", backend=backend)


CASES = [
    *((cls, ANY_ROWS, ROWS) for cls in (
        models.Counter, models.LastOutput, models.ListCache, models.RunningMean, models.Branching,
        models.Fails, models.Caught, models.Stays, models.WithObject,
        models.Nested)),
    (models.Decoder, ANY_STEPS, STEPS),
    (models.Recurrent, ANY_ROWS, (X, -X, X * 3)),
]  # fmt: skip


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("make", "spec", "calls"), CASES, ids=lambda one: getattr(one, "__name__", "")
)
def test_each_call_gives_what_eager_gives_after_the_calls_before_it(
    make, spec, calls, backend, tmp_path
):
    torch.manual_seed(0)
    model = make()
    loaded = saved(model, tmp_path, spec, backend)
    for _ in range(2):
        eager = copy.deepcopy(model)
        for x in calls:
            assert compare(outcome(eager, x), outcome(loaded, x)) is None
        loaded.reset_state()


@pytest.mark.parametrize(
    ("make", "spec", "calls"), CASES, ids=lambda one: getattr(one, "__name__", "")
)
def test_a_model_that_was_called_before_goes_on_from_there(make, spec, calls, tmp_path):
    torch.manual_seed(0)
    model = make()
    for x in calls[:2]:
        with torch.no_grad():
            outcome(model, x)
    loaded = saved(model, tmp_path, spec)
    for x in calls:
        assert compare(outcome(model, x), outcome(loaded, x)) is None


def test_methods_share_one_state(tmp_path):
    torch.manual_seed(0)
    model = models.Decoder()
    methods = {"forward": ANY_STEPS, "forget": ANY_STEPS, "length": ANY_STEPS}
    loaded = saved(model, tmp_path, methods=methods)
    for name, x in zip(
        ("forward", "length", "forward", "forget", "length", "forward"), STEPS * 2, strict=False
    ):
        assert compare(getattr(model, name)(x), getattr(loaded, name)(x)) is None
    assert [use.name for use in loaded.program("length").state] == ["position"]


def test_both_modes_share_one_state(tmp_path):
    class Modes(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.seen = torch.zeros(3)

        def forward(self, x):
            if self.training:
                self.seen = self.seen + x.sum(0)
            return x + self.seen

    model = Modes()
    loaded = saved(model, tmp_path)
    for training in (True, False, True, False):
        assert compare(model.train(training)(X), loaded.train(training)(X)) is None


def test_the_state_can_be_read_and_is_part_of_the_state_dict(tmp_path):
    torch.manual_seed(0)
    model = models.LastOutput()
    loaded = saved(model, tmp_path)
    assert list(loaded.state_dict()) == ["lin.weight", "lin.bias"]
    loaded(X)
    model(X)
    assert sorted(loaded.state_dict()) == ["largest", "last", "lin.bias", "lin.weight"]
    assert compare(model.last, loaded.last) is None
    other = stator.load(tmp_path / "model")
    other.load_state_dict(loaded.state_dict())
    assert compare(model(X * 2), other(X * 2)) is None
    other.load_state_dict(model.state_dict())  # the original's has no state: it stays as it is
    assert compare(model(X), other(X)) is None


def test_lists_and_tuples_of_the_state_are_in_the_state_dict(tmp_path):
    torch.manual_seed(0)
    model = models.Decoder()
    loaded = saved(model, tmp_path, ANY_STEPS)
    fresh = stator.load(tmp_path / "model")
    loaded(STEPS[0])
    names = [name for name in loaded.state_dict() if "cache" in name]
    assert names == ["layers.0.cache.0", "layers.0.cache.1", "layers.1.cache.0", "layers.1.cache.1"]
    fresh.load_state_dict(loaded.state_dict())
    assert compare(dict(loaded.state_dict()), dict(fresh.state_dict())) is None

    grown = saved(models.ListCache(), tmp_path)
    another = stator.load(tmp_path / "model")
    grown(X), grown(X)
    assert list(grown.state_dict()) == ["seen.0", "seen.1"]
    another.load_state_dict(grown.state_dict())
    assert compare(grown(X), another(X)) is None


def test_a_state_dict_that_does_not_fit_is_an_error(tmp_path):
    loaded = saved(models.ListCache(), tmp_path)
    with pytest.raises(RuntimeError, match="Unexpected key"):
        loaded.load_state_dict({"unknown": X})


def test_a_loaded_model_is_saved_with_the_state_that_it_has(tmp_path):
    torch.manual_seed(0)
    model = models.Decoder()
    loaded = saved(model, tmp_path, ANY_STEPS)
    with torch.no_grad():
        assert compare(model(STEPS[0]), loaded(STEPS[0])) is None
        stator.save(loaded, tmp_path / "again")
        again = stator.load(tmp_path / "again")
        assert compare(model(STEPS[1]), again(STEPS[1])) is None
        again.reset_state()
        assert compare(loaded(STEPS[1]), again(STEPS[1])) is None


def test_state_is_copied_with_the_model_and_pickled(tmp_path):
    loaded = saved(models.ListCache(), tmp_path)
    loaded(X)
    for other in (copy.deepcopy(loaded), pickle.loads(pickle.dumps(loaded))):
        assert compare(other(X), (X.sum(-1) * 2, 2)) is None
    assert compare(loaded(X), (X.sum(-1) * 2, 2)) is None


def test_state_survives_torch_save_of_the_state_dict(tmp_path):
    loaded = saved(models.ListCache(), tmp_path)
    loaded(X)
    file = io.BytesIO()
    torch.save(loaded.state_dict(), file)
    file.seek(0)
    fresh = stator.load(tmp_path / "model")
    fresh.load_state_dict(torch.load(file))
    assert compare(loaded(X), fresh(X)) is None


def test_gradients_go_through_the_state(tmp_path):
    torch.manual_seed(0)
    model = models.Recurrent()
    loaded = saved(model, tmp_path)
    for one in (model, loaded):
        for x in (X, X * 2, X * 3):
            y = one(x)
        y.sum().backward()
    grads = [[p.grad for p in one.parameters()] for one in (model, loaded)]
    assert all(torch.allclose(a, b, atol=1e-6) for a, b in zip(*grads, strict=True))


def test_state_in_another_dtype_is_refused(tmp_path):
    loaded = saved(models.ListCache(), tmp_path)
    loaded(X)
    loaded.double()
    with pytest.raises(SpecMismatch) as caught:
        loaded(X)
    assert caught.value.problem == (
        "the state `seen` is no longer list<f32[?]>, which the program was captured for"
    )


def test_an_argument_in_the_memory_of_the_state_is_refused_where_one_is_written(tmp_path):
    class Keeps(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.kept = torch.zeros(2, 3)

        def forward(self, x):
            before = self.kept + 1
            x.add_(1)
            after = self.kept + 1
            self.kept = x
            return before, after

    loaded = saved(Keeps(), tmp_path)
    x = X.clone()
    loaded(x)
    with pytest.raises(SpecMismatch) as caught:
        loaded(x)
    assert caught.value.problem == (
        "`x` shares memory with what the model has kept, and this call changes one of the two in "
        "place"
    )


# ---- what is refused


class Holder(torch.nn.Module):
    def __init__(self, **held):
        super().__init__()
        for name, value in held.items():
            setattr(self, name, value)


def refusal(model, folder, **options):
    with pytest.raises(CaptureError) as caught:
        stator.save(model, folder / "model", ANY_ROWS, **options)
    return caught.value.problem


def test_a_deque_and_a_set_are_refused(tmp_path):
    class Queue(Holder):
        def forward(self, x):
            self.queue.append(x)
            return x

    class Names(Holder):
        def forward(self, x):
            self.names.add(x.shape[1])
            return x

    assert refusal(Queue(queue=collections.deque(maxlen=3)), tmp_path) == (
        "a call changes `queue`, and keeps a deque there, which a saved model cannot keep"
    )
    assert refusal(Names(names=set()), tmp_path) == (
        "a call changes `names`, and keeps a set there, which a saved model cannot keep"
    )


OUTSIDE = []


def test_what_is_not_the_models_is_refused(tmp_path):
    count = 0

    class Closure(Holder):
        def forward(self, x):
            nonlocal count
            count += 1
            return x

    class Global(Holder):
        def forward(self, x):
            OUTSIDE.append(1)
            return x

    class OfTheClass(Holder):
        calls = 0

        def forward(self, x):
            type(self).calls += 1
            return x

    for cls in (Closure, Global, OfTheClass):
        assert "which is not part of a saved model" in refusal(cls(), tmp_path)


def test_a_container_with_another_name_is_refused(tmp_path):
    class Both(Holder):
        def forward(self, x):
            self.seen.append(1)
            return x + len(OUTSIDE)

    class Twice(Holder):
        def forward(self, x):
            self.one = []
            self.two = self.one
            return x

    assert refusal(Both(seen=OUTSIDE), tmp_path) == (
        "`seen`, which a call changes, is also reached by another name"
    )
    with pytest.raises(stator.StatorError, match="made in several places"):
        stator.save(Twice(one=None, two=None), tmp_path / "model", ANY_ROWS)


def test_memory_that_two_attributes_share_is_refused_where_one_is_written(tmp_path):
    class Shares(Holder):
        def forward(self, x):
            self.one.add_(1)
            self.two = self.one
            return x + self.two

    class Shared(Holder):
        def forward(self, x):
            self.one.add_(1)
            self.two = self.two + 1
            return x + self.two

    held = torch.zeros(3)
    assert refusal(Shares(one=torch.zeros(3), two=torch.ones(3)), tmp_path) == (
        "`two` shares memory with `one`, and one of them is changed in place: a saved model cannot "
        "keep that"
    )
    assert "shares memory with" in refusal(Shared(one=held, two=held), tmp_path)


def test_a_container_of_two_modules_that_one_replaces_is_refused(tmp_path):
    class Part(Holder):
        def forward(self, x):
            self.seen.append(1)
            return x

    class Whole(Holder):
        def forward(self, x):
            x = self.part(x)
            self.seen = [1]
            return x

    both = [0]
    assert refusal(Whole(part=Part(seen=both), seen=both), tmp_path) == (
        "`seen` is replaced by another container, and other modules have the old one"
    )


def test_a_tensor_with_a_name_that_the_state_needs_is_refused(tmp_path):
    class Grows(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("seen:0", X)
            self.seen = X

        def forward(self, x):
            self.seen = self.seen + self.get_buffer("seen:0")
            return x + self.seen

    with pytest.raises(FormatError) as caught:
        stator.save(Grows(), tmp_path / "model", ANY_ROWS)
    assert caught.value.problem == (
        "a tensor of the model has the name 'seen:0', which its state needs"
    )


def test_a_deleted_attribute_is_refused(tmp_path):
    class Deletes(Holder):
        def forward(self, x):
            del self.one
            return x

    assert refusal(Deletes(one=1), tmp_path).startswith("a call deletes `one` of a Deletes")


def test_a_form_that_never_settles_is_refused(tmp_path):
    class Deeper(Holder):
        def forward(self, x):
            self.tree = (self.tree, x.sum())
            return x

    assert refusal(Deeper(tree=None), tmp_path) == (
        "`tree` is None or tuple of 2, and has another type after every call"
    )


def test_onnx_and_executors_refuse_state(tmp_path):
    pytest.importorskip("onnxscript")
    with pytest.raises(ExportError) as refused:
        stator.save(models.Counter(), tmp_path / "model", ANY_ROWS, onnx=True)
    assert refused.value.problem == (
        "`forward` keeps `steps` from one call to the next, which an ONNX model cannot"
    )
    stator.save(models.Counter(), tmp_path / "model", ANY_ROWS)
    with pytest.raises(FormatError) as refused:
        stator.static.load_inference_model(tmp_path / "model", stator.static.Executor())
    assert refused.value.problem == (
        f"the model at {tmp_path / 'model'} keeps `steps` from one call to the next, which a "
        "program for an executor does not"
    )


# ---- the file


def test_a_model_without_state_is_written_as_before(tmp_path):
    stator.save(torch.nn.Linear(3, 3), tmp_path / "model", ANY_ROWS)
    assert (tmp_path / "model.stator").read_bytes().startswith(b'{"format":"stator","version":3,')
    stator.save(models.Counter(), tmp_path / "model", ANY_ROWS)
    assert (tmp_path / "model.stator").read_bytes().startswith(b'{"format":"stator","version":4,')
    assert sorted(read_model(tmp_path / "model").states) == ["steps", "total"]


def rewritten(path: Path, change):
    """The text of a model, with `change` made to its data and a digest that fits."""
    text = path.read_bytes()
    head = re.match(rb'\{"format":"stator","version":(\d+),"digest":"[0-9a-f]{64}",', text)
    data = json.loads(text)
    change(data)
    rest = {k: v for k, v in data.items() if k not in ("format", "version", "digest")}
    tail = json.dumps(rest, separators=(",", ":")).encode()[1:] + b"\n"
    digest = hashlib.sha256(tail).hexdigest()
    start = f'{{"format":"stator","version":{head[1].decode()},"digest":"{digest}",'
    path.write_bytes(start.encode() + tail)


def damage(name, value):
    def change(data):
        *path, last = name.split("/")
        for part in path:
            data = data[int(part) if isinstance(data, list) else part]
        if value is KeyError:
            del data[last]
        else:
            data[int(last) if isinstance(data, list) else last] = value

    return change


@pytest.mark.parametrize(
    ("place", "value", "problem"),
    [
        ("states/steps", KeyError, "names the state 'steps', which is not there"),
        ("states/steps/types/0", {"number": "float"}, "states.steps.initial[0] is no float"),
        ("states/steps/initial/0", "one", "states.steps.initial[0] is no int"),
        ("states/steps/initial", [], "states.steps.initial has 0 values, and 1 types"),
        ("states/steps/structure", {"leaf": 7}, "names a leaf beyond the 1 that there are"),
        ("programs/forward/state/0/count", 2, "programs.forward"),
        ("programs/forward/state/0/count", -1, "programs.forward"),
        ("programs/forward/state/0/name", "total", "programs.forward"),
        ("programs/forward/body/outputs", [], "programs.forward"),
    ],
)
def test_a_damaged_state_is_named(place, value, problem, tmp_path):
    stator.save(models.Counter(), tmp_path / "model", ANY_ROWS)
    rewritten(tmp_path / "model.stator", damage(place, value))
    with pytest.raises(FormatError) as caught:
        stator.load(tmp_path / "model")
    assert problem in caught.value.problem
