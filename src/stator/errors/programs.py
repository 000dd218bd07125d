"""Errors of programs and of their files: damaged, different from eager code, or not well formed."""

from __future__ import annotations

from stator.errors.base import StatorError


class FormatError(StatorError, ValueError):
    """A saved model is missing, damaged, or not one of ours; or a model cannot be saved.

    A model is two files, `.stator` and `.safetensors`, that belong together: the first holds the
    digests of the second. Nothing of a file that does not check out is used.

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
    """A program does something that eager code does not.

    `stator.verify` runs both on your inputs and on others, and its report says what differs, the
    first op that does, and an input that shows it. If the program does not do what your code does,
    it is a bug in Stator: please report it, with the input. The one case that is not is code marked
    `stator.not_to_static`: its Python runs while the program is captured, and not in every call.

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
    """A program broke one of its own rules: always a bug in Stator, please report it.

    Every program is checked after it is captured and after each optimization. If you have not built
    a program from parts yourself, the mistake is ours. `stator.set_verbosity(3)` shows where it was
    raised; `with stator.debug.eager():` runs your function without a program meanwhile.

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
