"""Errors of exports: a program that another format cannot hold."""

from __future__ import annotations

from stator.errors.base import StatorError


class ExportError(StatorError, ValueError):
    """A program does something that the export format cannot express.

    ONNX graphs cannot catch exceptions, call functions recursively, hold lists of lists, or draw
    the same random numbers as torch. The error names the op and your line, and no file is written.
    The model can still be saved without that format.

    Fails::

        import os
        import tempfile
        import stator
        import torch

        def noisy(x):
            return x + torch.rand(2)

        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model")
            stator.save(noisy, path, input_spec=[torch.ones(2)], onnx=True)

    Instead::

        import os
        import tempfile
        import stator
        import torch

        def noisy(x, noise):
            return x + noise

        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model")
            stator.save(noisy, path, input_spec=[torch.ones(2), torch.rand(2)], onnx=True)
    """

    code = "ST401"
    otherwise = "change that line, or save without this format"
