"""Memory: a change of what is watched is seen in its words; nothing else is."""

import gc
import threading
import types

import pytest
import torch

from stator.state import memory
from stator.state.memory import Watched, has_known_layouts, is_plain, memory_check

pytestmark = pytest.mark.skipif(not has_known_layouts(), reason="another Python or torch")


def test_dicts_objects_functions_and_tensors_are_seen_in_one_check():
    def helper(a=1):
        return a

    obj, table, tensor = types.SimpleNamespace(), {"a": 1}, torch.zeros(2, 3)
    check = memory_check(Watched([table, {}], [obj], [helper], [tensor, torch.ones(())]))
    assert check()
    tensor.add_(1)
    table["a"] = 1  # the same object again is no change, for Python too
    assert check()
    helper.__defaults__ = (2,)
    assert not check()
    helper.__defaults__ = None
    assert not check()


@pytest.mark.parametrize("count", [1, 400])
def test_one_change_among_many_is_seen(count):
    dicts = [{"k": k} for k in range(count)]
    tensors = [torch.zeros(2) for _ in range(count)]
    watched = Watched(dicts=dicts, tensors=tensors)
    check = memory_check(watched)
    assert check()
    tensors[count // 2].requires_grad_()
    assert not check()
    check = memory_check(watched)
    assert check()
    dicts[count // 2].clear()
    assert not check()


def test_nothing_to_watch_never_changes():
    assert memory_check(Watched())()


def test_what_is_watched_lives_as_long_as_the_check():
    tensors = [torch.zeros(3, 4) for _ in range(50)]
    check = memory_check(Watched([{k: k} for k in range(50)], tensors=tensors))
    tensors.clear()
    gc.collect()
    filler = [(torch.ones(5), {1: 2}) for _ in range(200)]
    assert check()
    assert len(filler) == 200


def test_a_tensor_swapped_with_another_is_seen_though_the_first_is_gone():
    tensor, other = torch.zeros(2, 3), torch.zeros(2, 3)
    check = memory_check(Watched(tensors=[tensor]))
    torch.utils.swap_tensors(tensor, other)
    del other
    gc.collect()
    assert not check()


def test_a_word_that_is_not_what_it_should_be_gives_no_check(monkeypatch):
    monkeypatch.setattr(memory, "DICT_VERSION", memory.OBJECT_CLASS)
    assert memory_check(Watched(dicts=[{}])) is None
    monkeypatch.undo()
    monkeypatch.setattr(memory, "IMPL_SIZES", memory.IMPL_STRIDES)
    assert memory_check(Watched(tensors=[torch.zeros(2, 3)])) is None
    monkeypatch.undo()
    monkeypatch.setattr(memory, "AUTOGRAD_REQUIRES_GRAD", memory.AUTOGRAD_FUNCTION)
    assert memory_check(Watched(tensors=[torch.zeros(2, requires_grad=True)])) is None


class Tagged(torch.Tensor):
    """A tensor of a class of its own."""


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors:UserWarning")
def test_a_plain_tensor_keeps_all_that_is_to_know_in_its_impl():
    assert is_plain(torch.zeros(2))
    assert is_plain(torch.nn.Parameter(torch.zeros(1, 1, 1, 1, 1)))
    assert not is_plain(torch.zeros(1, 1, 1, 1, 1, 1))
    assert not is_plain(torch.zeros(2).as_subclass(Tagged))
    assert not is_plain(torch.zeros(2).to_sparse())
    nested = torch.nested.nested_tensor([torch.zeros(2), torch.zeros(3)], layout=torch.strided)
    assert not is_plain(nested)


def test_threads_that_check_while_another_writes_see_each_write():
    table, tensor = {"a": 0}, torch.zeros(2)
    seen = []

    def look():
        for _ in range(200):
            check = memory_check(Watched(dicts=[table], tensors=[tensor]))
            seen.append(check is None or isinstance(check(), bool))

    threads = [threading.Thread(target=look) for _ in range(3)]
    for thread in threads:
        thread.start()
    for k in range(2000):
        table["a"] = k + 1000
    for thread in threads:
        thread.join()
    assert all(seen)
    assert len(seen) == 600
    check = memory_check(Watched(dicts=[table]))
    table["a"] = -1000
    assert not check()
