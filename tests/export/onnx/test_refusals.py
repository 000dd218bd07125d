"""What an export to ONNX refuses, word for word."""

import onnx
import onnx_ir as ir
import pytest
import torch

import stator
from stator.api import onnx_saving
from stator.api.onnx_layer import OnnxMethod
from stator.errors import ExportError
from stator.export.onnx.session import OnnxSession, to_feed
from stator.export.onnx.types import onnx_type
from stator.program.sizes import AnySize
from stator.program.types import ListType, NumberType, TensorType

X = torch.tensor([1.0, 2.0])


class Scaled(torch.nn.Module):
    """One weight of four bytes for each element."""

    def __init__(self, weight=X):
        super().__init__()
        self.register_buffer("weight", weight)

    def forward(self, x):
        return x * self.weight


def refused(function, tmp_path, *args, **options):
    """The problem that the save ends with; no file is left."""
    with pytest.raises(ExportError) as caught:
        stator.save(function, tmp_path / "f", input_spec=list(args), onnx=True, **options)
    assert not list(tmp_path.glob("*.onnx"))
    return caught.value.problem


def test_a_model_that_computes_something_else_is_not_kept(tmp_path, monkeypatch):
    right = OnnxMethod.run
    monkeypatch.setattr(OnnxMethod, "run", lambda *args: [x + 1 for x in right(*args)])
    wanted = "ONNX Runtime behaves differently from the program (f.onnx): output 0 is "
    problem = refused(torch.zeros_like, tmp_path, X)
    assert problem == wanted + "tensor([1., 1.]), not tensor([0., 0.])"


def test_a_model_that_the_checker_does_not_accept_is_not_kept(tmp_path, monkeypatch):
    def refuse(*_args, **_options):
        raise onnx.checker.ValidationError("no such type\n\n==> Context")

    monkeypatch.setattr(onnx.checker, "check_model", refuse)
    problem = refused(torch.zeros_like, tmp_path, X)
    assert problem == "onnx.checker does not accept the model: no such type"


def test_weights_that_do_not_fit_into_a_file(tmp_path, monkeypatch):
    monkeypatch.setattr(onnx_saving, "INSIDE_LIMIT", 7)
    stator.save(Scaled(), tmp_path / "f", input_spec=[X])
    with pytest.raises(ExportError) as caught:
        onnx_saving.save_onnx(tmp_path / "f", embed=True)
    assert caught.value.problem == (
        "8 bytes of weights do not fit into f.onnx: a file of ONNX ends at 2 GiB"
    )
    assert "without embedding" in caught.value.fix
    assert onnx_saving.save_onnx(tmp_path / "f")  # the weights stay where they are
    monkeypatch.setattr(onnx_saving, "INSIDE_LIMIT", 8)
    assert onnx_saving.save_onnx(tmp_path / "f", embed=True)


def test_a_weight_of_a_dtype_that_onnx_runtime_lacks(tmp_path):
    problem = refused(Scaled(X * 1j), tmp_path, X)
    assert problem == "ONNX Runtime has no tensors of dtype complex64: `weight`"


def test_an_opset_that_is_too_old(tmp_path):
    stator.save(Scaled(), tmp_path / "f", input_spec=[X])
    with pytest.raises(ExportError) as caught:
        onnx_saving.save_onnx(tmp_path / "f", opset=17)
    assert caught.value.problem == "opset 17 is older than 18, which torch needs"
    assert caught.value.fix == "use opset 18 or later"


def test_an_opset_that_is_not_there_yet(tmp_path):
    stator.save(Scaled(), tmp_path / "f", input_spec=[X])
    with pytest.raises(ExportError) as caught:
        onnx_saving.save_onnx(tmp_path / "f", opset=999)
    said = str(caught.value.__context__)
    assert "Supported range" in said
    assert caught.value.problem == f"opset 999 is not known here: {said}"


def test_a_call_with_bfloat16():
    kind = TensorType("bfloat16", (2,))
    with pytest.raises(ExportError) as caught:
        to_feed(X.bfloat16(), kind)
    assert caught.value.problem == (
        "numpy, through which tensors go to ONNX Runtime, has no bfloat16"
    )


def test_a_result_that_is_bfloat16(tmp_path):
    with pytest.raises(ExportError) as caught:
        stator.save(lambda x: x.bfloat16(), tmp_path / "f", input_spec=[X], onnx=True)
    assert caught.value.problem == (
        "a result is bfloat16, and numpy, through which it would come, has none"
    )
    assert not [*tmp_path.iterdir()]


def test_a_model_that_onnx_runtime_does_not_take():
    graph = ir.Graph([], [], nodes=[ir.node("NoSuchOp", [])], opset_imports={"": 18}, name="g")
    model = ir.to_proto(ir.Model(graph, ir_version=10)).SerializeToString()
    with pytest.raises(ExportError) as caught:
        OnnxSession(model)
    said = str(caught.value.__context__)
    assert "NoSuchOp" in said
    assert caught.value.problem == f"ONNX Runtime refuses the model: {said}"


def test_a_complex_input(tmp_path):
    problem = refused(lambda x: x + 1, tmp_path, X * 1j)
    assert problem == "ONNX Runtime has no type for c64[2]"


def test_a_list_of_lists_of_several_shapes():
    kind = ListType(ListType(TensorType("float32", (AnySize(),))))
    with pytest.raises(ExportError) as caught:
        onnx_type(kind)
    assert caught.value.problem == "ONNX has no lists of lists whose items have several shapes"
    assert caught.value.fix == "keep one list, and the lengths of its parts"


def test_a_list_of_lists_of_lists():
    with pytest.raises(ExportError) as caught:
        onnx_type(ListType(ListType(ListType(NumberType("int")))))
    assert caught.value.problem == "ONNX has no lists of lists whose items have several shapes"
