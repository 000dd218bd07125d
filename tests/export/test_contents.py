"""What a model's files say is read without torch, and is what `read_model` reads."""

import pytest
import torch

import stator
from stator import InputSpec
from stator.errors import FormatError
from stator.export.contents import read_contents
from stator.export.saved_model import read_model
from stator.program.printer import print_program
from stator.program.signatures import output_text


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two = torch.nn.Linear(3, 3), torch.nn.Linear(3, 3)
        self.two.weight = self.one.weight
        self.register_buffer("turn", torch.tensor([1j, 1.0]))

    def forward(self, x):
        while x.sum() < 10:
            x = self.one(x).abs() + self.two(x).abs() + 1
        return x, x.dtype, x.device, self.turn * 2


@pytest.fixture
def path(tmp_path):
    stator.save(Net().eval(), tmp_path / "net", [InputSpec([None, 3])])
    return tmp_path / "net"


def test_both_readers_read_the_same(path):
    contents, model = read_contents(path), read_model(path)
    assert contents.methods == model.methods
    assert contents.entries == model.entries
    assert contents.names == model.names
    for name, program in contents.programs.items():
        assert print_program(program) == print_program(model.programs[name])
        assert output_text(program) == output_text(model.programs[name])
    for name, tensor in model.tensors.items():
        kind = contents.names.types[name]
        assert (f"torch.{kind.dtype}", kind.shape) == (str(tensor.dtype), tuple(tensor.shape))
        assert contents.names.sizes[name] == tensor.nbytes
    assert contents.names.first_names()["two.weight"] == "one.weight"


def test_constants_of_torch_are_shown_as_torch_shows_them(path):
    text = output_text(read_contents(path).programs["forward"])
    assert text == "(f32[s0, 3], torch.float32, device(type='cpu'), c64[2])"


def test_damage_is_found_without_torch(path):
    file = path.with_suffix(".safetensors")
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)
    with pytest.raises(FormatError, match="do not have the digest named there"):
        read_contents(path)
