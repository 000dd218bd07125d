"""Tensors are stored once, and read only from the file that was meant."""

import pytest
import torch

from stator.errors import FormatError
from stator.export import tensor_file
from stator.export.files import digest_of
from stator.export.tensor_file import keys_of, read_tensors, restored, write_tensors


def test_names_of_one_tensor_share_the_first_of_them():
    one = torch.ones(2, 2)
    names = {"z": one, "b": one, "c": one.t(), "d": one.detach(), "e": one.clone()}
    assert keys_of(names) == {"b": "b", "c": "c", "d": "b", "e": "e", "z": "b"}


def test_empty_tensors_are_not_taken_for_one():
    assert keys_of({"a": torch.zeros(0), "b": torch.zeros(0)}) == {"a": "a", "b": "b"}


def test_a_file_of_another_digest_and_a_missing_one_give_nothing(tmp_path):
    file = tmp_path / "weights"
    assert read_tensors(file, "0" * 64) is None
    write_tensors(file, {"a": torch.ones(2)})
    assert read_tensors(file, "0" * 64) is None
    assert torch.equal(read_tensors(file, digest_of(file))["a"], torch.ones(2))


def test_a_file_that_is_taken_away_while_it_is_read_gives_nothing(tmp_path, monkeypatch):
    file = tmp_path / "weights"
    write_tensors(file, {"a": torch.ones(2)})
    digest = digest_of(file)

    def opened_late(path):
        path.unlink()
        return {}

    monkeypatch.setattr(tensor_file, "_open", opened_late)
    assert read_tensors(file, digest) is None


def test_a_file_that_is_replaced_while_it_is_read_gives_nothing(tmp_path, monkeypatch):
    file = tmp_path / "weights"
    write_tensors(file, {"a": torch.ones(2)})
    digest = digest_of(file)

    def opened_late(path):
        write_tensors(tmp_path / "other", {"a": torch.zeros(2)})
        (tmp_path / "other").replace(path)
        return {}

    monkeypatch.setattr(tensor_file, "_open", opened_late)
    assert read_tensors(file, digest) is None


def test_a_complex_tensor_is_restored_from_pairs():
    pairs = torch.tensor([[1.0, 2.0]])
    assert torch.equal(restored(pairs, "complex64"), torch.tensor([1 + 2j]))
    assert restored(pairs, "float32") is pairs
    assert restored(torch.tensor(1.0), "complex64").dtype == torch.float32  # no pairs: as it is


def test_a_dtype_that_the_file_cannot_hold_is_refused(tmp_path):
    with pytest.raises(FormatError) as caught:
        write_tensors(tmp_path / "weights", {"a": torch.empty(2, dtype=torch.uint4)})
    assert caught.value.problem == "a tensor of dtype torch.uint4 cannot be saved"
