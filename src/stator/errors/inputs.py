"""Errors of a call whose arguments do not match the program."""

from __future__ import annotations

from stator.errors.base import StatorError
from stator.location import Location


class InputError(StatorError):
    """The arguments of a call do not match the program.

    A program accepts the inputs that it was captured, loaded or written with: as many, with these
    names and of these types.

    Fails::

        import stator

        stator.static.Executor("cpu").run("my program")

    Instead::

        import stator
        import torch

        program = stator.static.Program()
        with stator.static.program_guard(program):
            x = stator.static.data("x", [2], "float32")
            y = x * 2
        stator.static.Executor("cpu").run(program, feed={"x": torch.ones(2)}, fetch_list=[y])
    """

    code = "ST300"
    otherwise = "give it the inputs that the program lists: print it to see them"


class SpecMismatch(InputError, ValueError):
    """An argument does not match its InputSpec.

    An `InputSpec` describes the arguments of every call, so that one program works for all of them.
    A call with other arguments is refused. `None` in a shape makes that size dynamic.

    Fails::

        import stator
        import torch
        from stator import InputSpec

        @stator.to_static(input_spec=[InputSpec([None, 4], "float32")])
        def double(x):
            return x * 2

        double(torch.ones(3, 5))

    Instead::

        import stator
        import torch
        from stator import InputSpec

        @stator.to_static(input_spec=[InputSpec([None, None], "float32")])
        def double(x):
            return x * 2

        double(torch.ones(3, 5))
    """

    code = "ST301"
    otherwise = "pass inputs that match, or capture a program for these"


class SizeCheckFailed(InputError, ValueError):
    """The sizes of this call do not meet a condition that the captured code needs.

    Dynamic sizes (`None` in an `InputSpec`) are not known during the capture. If the code works
    only for sizes that are equal, divisible or similar, the program contains a size check, which
    every run verifies.

    Fails::

        import stator
        import torch
        from stator import InputSpec

        @stator.to_static(input_spec=[InputSpec([None], "float32")])
        def rows(x):
            return x.view(-1, 3).sum(1)

        rows(torch.ones(4))

    Instead::

        import stator
        import torch
        from stator import InputSpec

        @stator.to_static(input_spec=[InputSpec([None, 3], "float32")])
        def rows(x):
            return x.sum(1)

        rows(torch.ones(4, 3))
    """

    code = "ST302"
    otherwise = "call it with sizes that fit, or capture it for fixed sizes"
    beside = "called with"  # what it names are the inputs: a variable may be called the same

    def __init__(
        self, problem: str, *, at: Location | None = None, before_running: bool = False
    ) -> None:
        super().__init__(problem, at=at)
        self.before_running = before_running  # nothing that can be seen had run yet


class UnknownOption(InputError, AttributeError, ValueError):
    """An option does not exist, or does not accept this value.

    Options are checked when they are set, not when they are used, so a misspelled one is noticed.

    Fails::

        import stator

        stator.static.BuildStrategy().fuse_everything = True

    Instead::

        import stator

        print(stator.static.BuildStrategy())
    """

    code = "ST303"
    otherwise = "use one of the names and values that the message lists"


class IntegerOverflow(InputError, OverflowError):
    """A run computed an integer that does not fit into 64 bits.

    Integers in a program are signed 64-bit numbers, which every backend supports; Python's integers
    have no limit. A run that exceeds the range raises this error instead of returning a value that
    differs from eager code. A `try` in the program does not catch it.

    Fails::

        import stator
        import torch

        @stator.to_static
        def power(n):
            return int(n) ** 50

        power(torch.tensor(3))

    Instead::

        import stator
        import torch

        @stator.to_static
        def power(n):
            return float(n) ** 50

        power(torch.tensor(3))
    """

    code = "ST304"
    otherwise = "compute it with floats or tensors, or in code that is not captured"
