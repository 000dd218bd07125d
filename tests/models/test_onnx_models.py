"""The models of `transformers` in ONNX Runtime: equal to eager at several sizes."""

import pytest
import torch

import stator
from tests.models.test_transformers import SIZES, SUBJECTS

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", SUBJECTS)
def test_a_model_in_onnx_runtime_equals_eager(name, tmp_path):
    subject = SUBJECTS[name]
    torch.manual_seed(0)
    model = subject.make().eval()
    with torch.no_grad():
        (report,) = stator.save(model, tmp_path / "m", input_spec=subject.spec(), onnx=True)
        assert report.runs
        loaded = stator.load(tmp_path / "m", backend="onnxruntime")
        for size in SIZES:
            arguments = subject.arguments(size)
            found, wanted = loaded(*arguments), model(*arguments)
            torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-4, msg=str(size))
