"""The state of a model by the C API: runs go on, a reset begins again, clients have their own."""

from __future__ import annotations

import ctypes

import pytest
import torch

import stator
from stator import InputSpec
from stator.extension import build_folder, command
from tests.api.saving_state_models import Counter, Fails

pytestmark = pytest.mark.skipif(command() is None, reason="the native runtime is not built")

FLOAT32 = 1


class Library:
    """The functions of the C API that are used here; an error that they give is raised."""

    def __init__(self) -> None:
        self.api = ctypes.CDLL(str(build_folder() / "libstator.so"))

    def __getattr__(self, name):
        function = getattr(self.api, f"stator_{name}")
        function.restype = ctypes.c_void_p

        def call(*args):
            if error := function(*args):
                raise RuntimeError(self.text(error))

        return call

    def text(self, error):
        read = self.api.stator_error_message
        read.restype = ctypes.c_char_p
        return read(ctypes.c_void_p(error)).decode()

    def sum_of(self, model, x):
        """The sum of the first output of a run, which is a tensor."""
        value, outputs = ctypes.c_void_p(), ctypes.c_void_p()
        shape = (ctypes.c_int64 * x.dim())(*x.shape)
        size = ctypes.c_size_t(x.numel() * 4)
        self.tensor_new(FLOAT32, shape, ctypes.c_size_t(x.dim()), ctypes.c_void_p(x.data_ptr()),
                        size, ctypes.byref(value))  # fmt: skip
        inputs = (ctypes.c_void_p * 1)(value)
        self.run(model, None, inputs, ctypes.c_size_t(1), ctypes.byref(outputs))
        get = self.api.stator_outputs_get
        get.restype = ctypes.c_void_p
        first = ctypes.c_void_p(get(outputs, ctypes.c_size_t(0)))
        data, length = ctypes.c_void_p(), ctypes.c_size_t()
        self.tensor_data(first, ctypes.byref(data), ctypes.byref(length))
        floats = ctypes.cast(data, ctypes.POINTER(ctypes.c_float))
        return sum(floats[k] for k in range(length.value // 4))


@pytest.fixture(scope="module")
def library():
    return Library()


def loaded(library, model, folder):
    stator.save(model.eval(), folder / "model", [InputSpec([None, 3])])
    handle = ctypes.c_void_p()
    library.load(str(folder / "model").encode(), ctypes.byref(handle))
    return handle


X = torch.ones(1, 3)


def test_runs_go_on_and_a_reset_begins_again(library, tmp_path):
    model = loaded(library, Counter(), tmp_path)
    eager = Counter()
    wanted = [eager(X)[0].sum().item() for _ in range(3)]
    assert [library.sum_of(model, X) for _ in range(3)] == wanted
    other = ctypes.c_void_p()
    library.own_state_new(model, ctypes.byref(other))
    assert library.sum_of(other, X) == wanted[0]
    library.reset_state(model)
    assert [library.sum_of(model, X) for _ in range(3)] == wanted
    assert library.sum_of(other, X) == wanted[1]


def test_a_run_that_raises_leaves_what_eager_leaves(library, tmp_path):
    model = loaded(library, Fails(), tmp_path)
    eager = Fails()
    for x in (X, -X, X * 3, X):
        try:
            wanted = eager(x)
        except ValueError as error:
            with pytest.raises(RuntimeError, match=str(error)):
                library.sum_of(model, x)
        else:
            first = wanted[0] if isinstance(wanted, tuple) else wanted
            assert library.sum_of(model, x) == pytest.approx(first.sum().item())
