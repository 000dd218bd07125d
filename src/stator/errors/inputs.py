"""Errors of a call: it does not fit the program."""

from __future__ import annotations

from stator.errors.base import StatorError
from stator.location import Location


class InputError(StatorError):
    """A call does not fit the program it is made to.

    A program takes the inputs that it was captured, loaded or written with, by number, name and
    kind.

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
    """An argument does not fit its InputSpec.

    An `InputSpec` promises what every call looks like, so that one program serves them all. A call
    that breaks the promise is refused, rather than run by a program that was made for another.
    `None` in a shape leaves that size open.

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
    otherwise = "pass what the program was captured for, or capture it for this"


class DemandViolated(InputError, ValueError):
    """The captured code needs its sizes to meet a condition, and those of this call do not.

    With dynamic sizes (`None`) a program is made for sizes not known yet. Where the code
    works only if they are equal, divisible or the like, the program has a size check, and every run
    makes it.

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
    """A setting has no such name, or cannot have such a value.

    Options are checked when they are set, not when they are used, so that a misspelt one cannot go
    unnoticed.

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

    Integers of a program have 64 bits with a sign, so that every backend can hold them; those of
    Python have no limit. A run that would leave the range ends with this error, and gives no
    value that differs from eager. `try` in the program does not catch it.

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
