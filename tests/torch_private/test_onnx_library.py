"""Torch's function library for ONNX is where it was."""

import torch

from stator.torch_private.onnx_library import function_of, new_recorder, new_value, recording


def test_the_library_records_an_op():
    function = function_of(torch.ops.aten.relu.default)
    assert function is not None
    recorder = new_recorder()
    with recording(recorder):
        function(new_value("x", None, None))
    assert [node.op_type for node in recorder.nodes] == ["Relu"]


def test_an_op_without_a_function_is_known():
    assert function_of(torch.ops.aten.index_add.default) is None
