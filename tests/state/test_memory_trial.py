"""MemoryTrial: a layout that hides a change is found out before it is relied on."""

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from stator.state import memory, memory_trial
from stator.state.memory import has_known_layouts
from stator.state.memory_trial import can_check_by_memory

pytestmark = pytest.mark.skipif(not has_known_layouts(), reason="another Python or torch")


@pytest.fixture(autouse=True)
def anew():
    memory_trial._sees_every_change.cache_clear()
    yield
    memory_trial._sees_every_change.cache_clear()


@pytest.mark.parametrize("mode", [torch.enable_grad, torch.no_grad, torch.inference_mode])
def test_every_change_is_seen_in_any_mode(mode):
    with mode():
        assert can_check_by_memory()


UNRELATED = 16  # the storage of a TensorImpl; the globals of a function


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("OBJECT_CLASS", 0),
        ("DICT_VERSION", 16),
        ("FUNCTION_CODE", UNRELATED),
        ("FUNCTION_DEFAULTS", UNRELATED),
        ("FUNCTION_KEYWORD_DEFAULTS", UNRELATED),
        ("TENSOR_IMPL", 24),
        ("IMPL_AUTOGRAD", 32),
        ("IMPL_RANK", 152),
        ("IMPL_SIZES", 80),
        ("IMPL_STRIDES", 120),
        ("IMPL_DTYPE_AND_DEVICE", 32),
        ("IMPL_KEYS", 32),
        ("AUTOGRAD_FUNCTION", 16),
        ("AUTOGRAD_REQUIRES_GRAD", 120),
    ],
)
def test_a_wrong_offset_is_found_out(name, wrong, monkeypatch):
    monkeypatch.setattr(memory, name, wrong)
    assert not can_check_by_memory()


@pytest.mark.parametrize(
    ("owner", "name", "other"),
    [
        ("sys", "platform", "darwin"),
        ("sys", "version_info", (3, 12, 1)),
        ("torch", "__version__", "2.14.0+cpu"),
        ("torch", "__version__", "2.1.0"),
    ],
)
def test_another_python_or_torch_is_not_tried(owner, name, other, monkeypatch):
    monkeypatch.setattr(f"stator.state.memory.{owner}.{name}", other)
    assert not can_check_by_memory()


class Counting(TorchDispatchMode):
    """Counts the operators that run in it."""

    count = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.count += 1
        return func(*args, **(kwargs or {}))


def test_a_mode_of_the_user_does_not_see_the_trial():
    with Counting() as mode:
        assert not can_check_by_memory()
    assert mode.count == 0
    assert can_check_by_memory()


def test_random_numbers_are_as_they_were():
    before = torch.get_rng_state()
    assert can_check_by_memory()
    assert torch.equal(before, torch.get_rng_state())
