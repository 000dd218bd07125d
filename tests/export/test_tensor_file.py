"""Tensors are stored once, and read only from the file that was meant."""

import json
import os

import numpy
import pytest
import safetensors.torch
import torch

import stator
from stator.errors import FormatError
from stator.export import tensor_header
from stator.export.checking import Damage
from stator.export.tensor_file import keys_of, map_tensors, restored, write_tensors
from stator.export.tensor_header import DTYPES, read_header


def test_names_of_one_tensor_share_the_first_of_them():
    one = torch.ones(2, 2)
    names = {"z": one, "b": one, "c": one.t(), "d": one.detach(), "e": one.clone()}
    assert keys_of(names) == {"b": "b", "c": "c", "d": "b", "e": "e", "z": "b"}


def test_empty_tensors_are_not_taken_for_one():
    assert keys_of({"a": torch.zeros(0), "b": torch.zeros(0)}) == {"a": "a", "b": "b"}


def mapped(file):
    with file.open("rb") as stream:
        size = os.fstat(stream.fileno()).st_size
        return map_tensors(stream.fileno(), read_header(stream.fileno(), size))


def test_what_is_written_is_mapped_again(tmp_path):
    tensors = {"b": torch.randn(3, 5), "a": torch.arange(7), "c": torch.zeros(0, 2)}
    write_tensors(tmp_path / "weights", tensors)
    again = mapped(tmp_path / "weights")
    assert again.keys() == tensors.keys()
    for name, tensor in tensors.items():
        assert torch.equal(again[name], tensor)
        assert again[name].untyped_storage().nbytes() == tensor.nbytes  # it shares none


def test_any_reader_of_safetensors_reads_the_file(tmp_path):
    tensors = {"b": torch.randn(3, 5), "a": torch.arange(7), "c": torch.tensor(1.5)}
    write_tensors(tmp_path / "weights", tensors)
    again = safetensors.torch.load_file(tmp_path / "weights")
    for name, tensor in tensors.items():
        assert torch.equal(again.pop(name), tensor)
    assert all(name.startswith(".filling.") for name in again)


def test_a_file_of_any_writer_of_safetensors_is_read(tmp_path):
    tensors = {"b": torch.randn(3, 5), "a": torch.arange(7, dtype=torch.int8)}
    safetensors.torch.save_file(tensors, tmp_path / "weights", metadata={"by": "another"})
    again = mapped(tmp_path / "weights")
    for name, tensor in tensors.items():
        assert torch.equal(again[name], tensor)


def test_every_tensor_stands_at_a_multiple_of_64_bytes(tmp_path):
    tensors = {f"t{size}": torch.ones(size, dtype=torch.int8) for size in range(1, 70, 9)}
    write_tensors(tmp_path / "weights", tensors)
    data = (tmp_path / "weights").read_bytes()
    length = int.from_bytes(data[:8], "little")
    for item in json.loads(data[8 : 8 + length]).values():
        if item["dtype"] == "I8":
            assert (8 + length + item["data_offsets"][0]) % 64 == 0
    assert all(tensor.data_ptr() % 64 == 0 for tensor in mapped(tmp_path / "weights").values())


def header_of(**entries):
    return {
        name: {"dtype": dtype, "shape": shape, "data_offsets": offsets}
        for name, (dtype, shape, offsets) in entries.items()
    }


RIGHT = ("F32", [2], [0, 8])


@pytest.mark.parametrize(
    ("header", "problem"),
    [
        ([], "the header must be an object, not a list"),
        ("x", "the header must be an object, not a string"),
        ({"a": 1}, "the header.a must be an object, not an integer"),
        (header_of(a=("F99", [2], [0, 8])),
         "the header.a.dtype must be one of BOOL, U8, I8, I16, U16, F16, BF16, I32, U32, F32, F64, "
         "I64, U64, F8_E4M3, F8_E5M2, not 'F99'"),
        (header_of(a=("F32", [-2], [0, 8])), "the header.a.shape must hold sizes"),
        (header_of(a=("F32", [2**63], [0, 8])), "the header.a.shape must hold sizes"),
        (header_of(a=("F32", [2**40, 2**40], [0, 8])), "the header.a.shape is too large"),
        (header_of(a=("F32", [0, 2**62, 2**62], [0, 8])), "the header.a.shape is too large"),
        (header_of(a=("F32", [1] * 65, [0, 4])), "the header.a.shape is too large"),
        (header_of(a=("F32", [2], [0, 1.5])), "the header.a.data_offsets must hold sizes"),
        (header_of(a=("F32", [2], [0])),
         "the header.a.data_offsets must be two, as far apart as the shape takes bytes"),
        (header_of(a=("F32", [2], [8, 0])),
         "the header.a.data_offsets must be two, as far apart as the shape takes bytes"),
        (header_of(a=RIGHT, b=RIGHT), "the header.b starts at byte 130, not at 138"),
        (header_of(a=("F32", [2], [4, 12])), "the header.a starts at byte 74, not at 70"),
        (header_of(a=("F32", [2**20], [0, 2**22])),
         "the header has entries up to byte 4194385, and the file has 145"),
        ({}, "the header has entries up to byte 10, and the file has 74"),
    ],
)  # fmt: skip
def test_a_header_that_lies_is_refused_by_its_text(tmp_path, header, problem):
    text = json.dumps(header).encode()
    (tmp_path / "weights").write_bytes(len(text).to_bytes(8, "little") + text + bytes(64))
    with pytest.raises(Damage) as caught:
        mapped(tmp_path / "weights")
    assert str(caught.value) == problem


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "the header ends at byte 8, and the file has 0"),
        (b"\x10" + bytes(7), "the header ends at byte 24, and the file has 8"),
        (b"\xff" * 64, "the header ends at byte 18446744073709551623, "
                       "and the file has 64"),
        (b"\x02" + bytes(7) + b"{,", "the header: Expecting property name enclosed in double "
                                    "quotes: line 1 column 2 (char 1)"),
        (b"\x0f" + bytes(7) + b'{"a":1,"a":2}  ', "the header: an object has the key 'a' twice"),
    ],
)  # fmt: skip
def test_a_header_that_is_none_is_refused_by_its_text(tmp_path, data, problem):
    (tmp_path / "weights").write_bytes(data)
    with pytest.raises(Damage) as caught:
        mapped(tmp_path / "weights")
    assert str(caught.value) == problem


def test_a_header_longer_than_the_limit_is_refused_by_its_text(tmp_path, monkeypatch):
    write_tensors(tmp_path / "weights", {"a": torch.ones(2)})
    monkeypatch.setattr(tensor_header, "HEADER_LIMIT", 100)
    with pytest.raises(Damage) as caught:
        mapped(tmp_path / "weights")
    assert str(caught.value) == "the header is longer than 100 bytes"


def test_a_complex_tensor_is_restored_from_pairs():
    pairs = torch.tensor([[1.0, 2.0]])
    assert torch.equal(restored(pairs, "complex64"), torch.tensor([1 + 2j]))
    assert restored(pairs, "float32") is pairs
    assert restored(torch.tensor(1.0), "complex64").dtype == torch.float32  # no pairs: as it is


def test_a_dtype_that_the_file_cannot_hold_is_refused(tmp_path):
    with pytest.raises(FormatError) as caught:
        write_tensors(tmp_path / "weights", {"a": torch.empty(2, dtype=torch.uint4)})
    assert caught.value.problem == "a tensor of dtype torch.uint4 cannot be saved"


@pytest.mark.parametrize(
    ("name", "tensor", "problem"),
    [
        (".filling.0", torch.ones(1), "a tensor cannot be saved under the name `.filling.0`"),
        ("a", torch.ones(1, device="meta"),
         "the tensor `a` is on the meta device and has no data to save"),
    ],
)  # fmt: skip
def test_a_tensor_that_the_file_cannot_hold_is_refused(tmp_path, name, tensor, problem):
    with pytest.raises(FormatError) as caught:
        write_tensors(tmp_path / "weights", {name: tensor})
    assert caught.value.problem == problem


def test_the_sizes_of_dtypes_are_those_of_torch():
    for dtype in DTYPES.values():
        assert getattr(torch, dtype.name).itemsize == dtype.size


def test_tensors_with_one_item_or_none_are_written_whatever_their_strides(tmp_path):
    empty = torch.from_numpy(numpy.array([]))
    assert empty.stride() == (0,) or empty.stride() == (1,)
    one = torch.full((3,), 7.0, dtype=torch.float64).as_strided((1,), (0,))

    def f(x):
        return torch.cat([empty, one, x]), empty

    stator.save(f, tmp_path / "model", [stator.InputSpec([2], "float64")])
    x = torch.ones(2, dtype=torch.float64)
    for got, want in zip(stator.load(tmp_path / "model")(x), f(x), strict=True):
        assert torch.equal(got, want)
