"""Errors of programs and of their files: damaged, different from eager code, or not well formed."""

from __future__ import annotations

from stator.errors.base import StatorError


class FormatError(StatorError, ValueError):
    """A saved model is missing, damaged or not a Stator model; or a model cannot be saved.

    A model is a pair of files, `.stator` and `.safetensors`. The first contains the digests of the
    second. If a check fails, no part of either file is used.

    Fails::

        import stator

        stator.load("no_such_model")

    Instead::

        import os
        import tempfile
        import stator
        import torch

        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model")
            stator.save(torch.nn.Linear(2, 1), path, input_spec=[stator.InputSpec([None, 2])])
            stator.load(path)
    """

    code = "ST400"
    otherwise = "save the model again, or copy both its files again"


class VerificationFailed(StatorError, AssertionError):
    """A program behaves differently from eager code.

    `stator.verify` runs both on your inputs and on generated ones. Its report lists the
    differences, the first op that differs, and an input that shows it. A difference is a bug in
    Stator: please report it, with the input. The only exception is code marked with
    `stator.not_to_static`: its Python code runs only during the capture, not in every call.

    Fails::

        import stator
        import torch

        seen = []

        @stator.not_to_static
        def number_of_calls():
            seen.append(True)
            return len(seen)

        def scaled(x):
            return x * number_of_calls()

        stator.verify(scaled, [(torch.ones(2),), (torch.zeros(2),)]).raise_for_difference()

    Instead::

        import stator
        import torch

        seen = []

        def number_of_calls():
            seen.append(True)
            return len(seen)

        def scaled(x):
            return x * number_of_calls()

        stator.verify(scaled, [(torch.ones(2),), (torch.zeros(2),)]).raise_for_difference()
    """

    code = "ST500"
    otherwise = "report it as a bug in Stator, with the input that shows it"


class ProgramError(StatorError, AssertionError):
    """A program is not well-formed. This is a bug in Stator: please report it.

    Every program is checked after the capture and after each optimization. Unless you have built
    the program by hand, the mistake is ours. `stator.set_verbosity(3)` shows where it was raised.
    As a workaround, `with stator.debug.eager():` runs your function eagerly.

    Fails::

        from stator.program.ir import Block, Op
        from stator.program.program import Program
        from stator.program.structure import ConstantValue
        from stator.program.verifier import verify

        block = Block(ops=[Op("stator::while", (), {}, ())])
        verify(Program("broken", (), (), block, ConstantValue(None), ConstantValue(None)))

    Instead::

        from stator.program.ir import Block
        from stator.program.program import Program
        from stator.program.structure import ConstantValue
        from stator.program.verifier import verify

        verify(Program("empty", (), (), Block(), ConstantValue(None), ConstantValue(None)))
    """

    code = "ST900"
    otherwise = "report this as a bug in Stator"
