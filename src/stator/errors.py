"""Every exception Stator raises.

    StatorError                ST000
      ConversionError          ST100  before user code runs: the source cannot be converted
        SourceUnavailable      ST101  no source text (a C function, an exec'd string)
        UnsupportedSyntax      ST102  this construct, at this place
      CaptureError             ST200  while user code runs: this run cannot be recorded
        BranchMismatch         ST201  the two sides of an `if` disagree
        LoopStateChanged       ST202  a loop variable never settles to one type
        DataDependent          ST203  Python needs a value that only a run can give
        UnsupportedCall        ST204  a call that would not mean the same in a program
        UntrackedTensor        ST205  a tensor that was made behind the recorder's back
      InputError               ST300  a call does not fit the program
        SpecMismatch           ST301  an argument does not fit its InputSpec
        DemandViolated         ST302  sizes that the program was captured for do not hold
        UnknownOption          ST303  a setting, or a value for it, that does not exist
      FormatError              ST400  a saved model is missing, damaged or from elsewhere
      VerificationFailed       ST500  a program was compared with eager code, and differs
      ProgramError             ST900  a Program broke a rule: always a bug in Stator

An error raised by user code passes through unchanged. Every class also is the builtin
exception that a caller would expect, so `except ValueError` keeps working.

The docstring of a class is its page: `explain("ST204")` prints it, and docs/errors/ is made from
it. Its examples are run by a test: what stands under `Fails` ends with that error, what stands
under `Instead` does not.
"""

from __future__ import annotations

import difflib
import inspect
import linecache
import re
import sys
from collections.abc import Iterable, Mapping

from stator.frames import current_place
from stator.location import Location

Edit = tuple[str, str]  # a pattern, and what to write instead of it: in the words of `re.sub`


class StatorError(Exception):
    """The base of the tree: catch it to catch whatever Stator refuses.

    An error of your own code (an `IndexError`, a `raise`) is none of these: it passes through as it
    is, with a note that names your line.

    Fails::

        import stator
        import torch

        @stator.to_static
        def draw(x):
            return x.data + 1

        draw(torch.ones(2))

    Instead::

        import stator
        import torch

        @stator.to_static
        def draw(x):
            return x.data + 1

        try:
            draw(torch.ones(2))
        except stator.StatorError as error:
            print(error.code, error.problem, error.at, error.fix)
    """

    code = "ST000"
    otherwise = ""  # the way out where an error names none of its own
    beside = "with"  # the word before the variables that it names

    def __init__(
        self,
        problem: str,
        *,
        at: Location | None = None,
        fix: str = "",
        edit: Edit | None = None,
    ) -> None:
        self.problem, self.at, self.fix = problem, at or current_place(), fix or self.otherwise
        self.edit = edit
        self.involved: Mapping[str, str] = {}  # variables of that line, and what they are
        super().__init__(problem)

    def __str__(self) -> str:
        lines = [f"[{self.code}] {self.problem}"]
        if self.at:
            lines.append(f"  at {self.at}")
        if self.involved:
            named = ", ".join(f"{name}: {kind}" for name, kind in self.involved.items())
            lines.append(f"  {self.beside} {named}")
        if self.fix:
            lines.append(f"  fix: {self.fix}")
        return "\n".join([*lines, *self.diff])

    def __reduce__(self) -> tuple[object, ...]:
        """By its parts: `args` has the problem alone."""
        return _restored, (type(self), self.problem, vars(self))

    @property
    def diff(self) -> tuple[str, ...]:
        """The edit that mends the line, as lines of a small diff; none where there is none."""
        if self.edit is None or self.at is None:
            return ()
        before = linecache.getline(self.at.file, self.at.line).strip()
        after = re.sub(*self.edit, before, count=1)
        return ("  edit:", f"    - {before}", f"    + {after}") if after != before else ()


def nearest(name: object, known: Iterable[str]) -> Edit | None:
    r"""The edit that puts what was probably meant in the place of `name`; None if none is near.

    >>> nearest("lops", ["loops", "calls"])
    ('\\blops\\b', 'loops')
    """
    found = difflib.get_close_matches(str(name), list(known), n=1)
    return (rf"\b{re.escape(str(name))}\b", found[0]) if found else None


def _restored(cls: type[StatorError], problem: str, fields: dict[str, object]) -> StatorError:
    error = cls(problem)
    vars(error).update(fields)
    return error


class ConversionError(StatorError):
    """What is given to Stator cannot be made static, whatever it is called with.

    `to_static` takes a function, a method, an `nn.Module` or a class of modules, and the options
    that it lists. Anything else is refused at once, before your code runs.

    Fails::

        import stator

        stator.to_static(42)

    Instead::

        import stator

        stator.to_static(lambda x: x * 42)
    """

    code = "ST100"


class SourceUnavailable(ConversionError, OSError):
    r"""There is no source text to convert.

    Stator reads the text of your function and rewrites it. A function made by `exec` or `eval`, or
    one whose file has changed since, has no text to read. Put it into a file or a notebook cell; or
    mark it with `stator.not_to_static`: then its tensor ops are recorded, and its Python runs while
    the program is captured.

    Fails::

        import stator
        import torch

        names = {}
        exec("def double(x):\n    return x * 2", names)
        stator.to_static(names["double"])(torch.ones(2))

    Instead::

        import stator
        import torch

        def double(x):
            return x * 2

        stator.to_static(double)(torch.ones(2))
    """

    code = "ST101"


class UnsupportedSyntax(ConversionError, NotImplementedError):
    """A construct of Python that Stator does not convert.

    A program runs from start to end, so `async` has no meaning in it; `eval`, `exec` and `locals()`
    would see the rewritten function instead of yours. The error names the line, and the edit where
    one would do.

    Fails::

        import stator
        import torch

        @stator.to_static
        def guarded(x):
            try:
                return x / x.sum()
            except* ZeroDivisionError:
                x = x + 1
            return x

        guarded(torch.ones(2))

    Instead::

        import stator
        import torch

        @stator.to_static
        def guarded(x):
            try:
                return x / x.sum()
            except ZeroDivisionError:
                x = x + 1
            return x

        guarded(torch.ones(2))
    """

    code = "ST102"


class CaptureError(StatorError):
    """A run of the converted function cannot be recorded as a program.

    The function was converted and ran on symbolic tensors, and did something that a program cannot
    do: it gave back what no program can give, or torch itself could not follow it.

    Fails::

        import stator
        import torch

        @stator.to_static
        def distinct(x):
            return {int(x.sum()), 1}

        distinct(torch.ones(2))

    Instead::

        import stator
        import torch

        @stator.to_static
        def distinct(x):
            return [int(x.sum()), 1]

        distinct(torch.ones(2))
    """

    code = "ST200"


class BranchMismatch(CaptureError, TypeError):
    """The two sides of a branch leave a variable in forms that have no common one.

    Which side runs is known only when the program runs, so what comes after must be able to use
    either result. Most differences are joined (another size, None or a tensor, two dtypes); an
    object that is built up differently on each side is not, nor can library code ask for the
    truth, the items or the hash of something that is one thing or another.

    Fails::

        import stator
        import torch

        @stator.to_static
        def scores(x):
            table = {}
            if x.sum() > 0:
                table["low"], table["high"] = x.min(), x.max()
            else:
                table["high"], table["low"] = x.max(), x.min()
            return table

        scores(torch.ones(2))

    Instead::

        import stator
        import torch

        @stator.to_static
        def scores(x):
            table = {"low": x.min(), "high": x.max()}
            if x.sum() > 0:
                table["low"] = table["low"] * 2
            return table

        scores(torch.ones(2))
    """

    code = "ST201"


class LoopStateChanged(CaptureError, TypeError):
    """A loop variable takes another form on every trip.

    A loop of the program is recorded once and runs many times, so each variable needs one form that
    holds for every trip: a dtype, a rank, a structure. Sizes may change from trip to trip, the
    number of dimensions may not keep growing.

    Fails::

        import stator
        import torch

        @stator.to_static
        def deepen(x, n):
            while n > 0:
                x = x[None]
                n = n - 1
            return x

        deepen(torch.ones(2), torch.tensor(3))

    Instead::

        import stator
        import torch

        @stator.to_static
        def deepen(x, n: int):
            for _ in range(n):  # a Python number: the loop is unrolled
                x = x[None]
            return x

        deepen(torch.ones(2), 3)
    """

    code = "ST202"


class DataDependent(CaptureError, ValueError):
    """Python code needs a concrete value where only a run of the program has one.

    `if`, loops, comparisons, arithmetic, lists and texts of captured values are all recorded. But
    code that Stator does not convert (a function in C, a library that asks for a number) needs the
    very value while the program is still being made.

    Fails::

        import math
        import stator
        import torch

        @stator.to_static
        def next_number(x):
            return math.nextafter(int(x), 6)

        next_number(torch.tensor(3))

    Instead::

        import stator
        import torch

        @stator.to_static
        def next_number(x):
            return torch.nextafter(x.double(), torch.tensor(6.0).double())

        next_number(torch.tensor(3))
    """

    code = "ST203"


class UnsupportedCall(CaptureError, NotImplementedError):
    """A call whose effect a program cannot express.

    A captured call is replayed, not run again by Python. What would then mean something else is
    refused: random numbers drawn by Python would be the same in every run, an address or an `id`
    would be that of another object, a hook would be lost.

    Fails::

        import random
        import stator
        import torch

        @stator.to_static
        def jitter(x):
            return x + random.random()

        jitter(torch.ones(2))

    Instead::

        import stator
        import torch

        @stator.to_static
        def jitter(x):
            return x + torch.rand(())

        jitter(torch.ones(2))
    """

    code = "ST204"


class UntrackedTensor(CaptureError, RuntimeError):
    """A tensor was made by code that the recorder could not see.

    The recorder follows torch's ops. A tensor that was computed from captured values in another
    way (by a C extension), or kept from a branch or a trip that is over by code that is not
    converted, has no op in sight that made it, so the program could not use it.

    Fails::

        import stator
        import torch

        seen = {}

        @stator.not_to_static
        def keep(x):
            seen["last"] = x

        @stator.to_static
        def scaled(x):
            if x.sum() > 0:
                keep(x * 2)
            return seen["last"] + 1

        scaled(torch.ones(2))

    Instead::

        import stator
        import torch

        @stator.to_static
        def scaled(x):
            last = x
            if x.sum() > 0:
                last = x * 2
            return last + 1

        scaled(torch.ones(2))
    """

    code = "ST205"


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
    """The captured code demanded something of its sizes, and this call breaks it.

    With open sizes (`None`) a program is made for sizes that nobody knows yet. Where the code can
    only go on if they are equal, divisible or the like, the program keeps that as a demand and
    checks it in every run.

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
    before_running = False  # True where nothing of the program had run yet
    beside = "called with"  # what it names are the inputs: a variable may be called the same


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
        from stator.program.structure import Fixed
        from stator.program.verifier import verify

        block = Block(ops=[Op("stator::while", (), {}, ())])
        verify(Program("broken", (), (), block, Fixed(None), Fixed(None)))

    Instead::

        from stator.program.ir import Block
        from stator.program.program import Program
        from stator.program.structure import Fixed
        from stator.program.verifier import verify

        verify(Program("empty", (), (), Block(), Fixed(None), Fixed(None)))
    """

    code = "ST900"
    otherwise = "report this as a bug in Stator"


def all_errors() -> dict[str, type[StatorError]]:
    """Every class of the tree, by its code."""
    found, pending = {}, [StatorError]
    while pending:
        cls = pending.pop()
        found[cls.code] = cls
        pending += cls.__subclasses__()
    return {code: cls for code, cls in sorted(found.items()) if cls.__module__ == __name__}


def explain(error: str | StatorError | type[StatorError]) -> None:
    """Print what an error means, why it is one, an example that fails, and the way out.

    >>> explain("ST204")  # doctest: +ELLIPSIS
    ST204 UnsupportedCall
    <BLANKLINE>
    A call whose effect a program cannot express...
    """
    sys.stdout.write(page(error) + "\n")


def page(error: str | StatorError | type[StatorError]) -> str:
    """The page of an error: its code and class, and the text of the class."""
    known = all_errors()
    code = error.upper() if isinstance(error, str) else error.code
    if code not in known:
        raise UnknownOption(
            f"there is no error {code}", fix=f"give one of {', '.join(known)}",
            edit=nearest(error, known),
        )  # fmt: skip
    cls = known[code]
    return f"{code} {cls.__name__}\n\n{inspect.getdoc(cls)}"
