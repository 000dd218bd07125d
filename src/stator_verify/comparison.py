"""difference(): what a run does that eager code does not."""

from __future__ import annotations

import math
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy
import torch

from stator.english import with_article
from stator.errors import StatorError
from stator.frames import is_library_file
from stator_verify.outcome import Outcome
from stator_verify.trees import Container, Item, TreeSnapshot

# of gradients, where the user gives none: sums may be added up in another order
GRADIENT_LIMITS = {torch.float64: (1e-7, 1e-9), torch.float32: (1e-4, 1e-5)}
COARSE = (2e-2, 1e-2)  # for every dtype that is shorter
ROUNDINGS = 4  # of numpy's own functions, which a program computes with torch's
SHOWN = 6  # elements of a tensor that a text shows


@dataclass(frozen=True)
class Difference:
    """One thing that is not as in eager code."""

    kind: str  # result, error, printed, argument, memory, state, gradient, refused, endless
    text: str
    path: str = ""  # of the part of the result


@dataclass(frozen=True)
class Tolerance:
    """How far numbers may be apart; to the bit where nothing is given."""

    rtol: float | None = None
    atol: float | None = None

    @property
    def is_exact(self) -> bool:
        """Is it to the bit?"""
        return self.rtol is None and self.atol is None

    def for_gradients(self, dtype: torch.dtype) -> Tolerance:
        """What is given, or what sums in another order need."""
        if not self.is_exact:
            return self
        return Tolerance(*GRADIENT_LIMITS.get(dtype, COARSE))


def difference(
    eager: Outcome, other: Outcome, tolerance: Tolerance, *, live: bool
) -> Difference | None:
    """The first difference; `live` where the run had the caller's own objects."""
    if other.exhausted:
        return Difference("endless", "does not finish; eager code does")
    if eager.error is not None or other.error is not None:
        found = _error(eager.error, other.error, live)
    else:
        found = _items("result", eager.result, other.result, tolerance, live)
    if found is None and eager.printed != other.printed:
        found = Difference("printed", f"prints {other.printed!r}, eager {eager.printed!r}")
    if found is None and eager.error is not None and not is_raised_by_user(eager.error):
        return None  # torch refuses the input: a capture does so before anything has run
    found = found or _items("argument", eager.arguments, other.arguments, tolerance, live)
    if found is None and eager.error is None and eager.shared != other.shared:
        found = Difference(
            "memory",
            f"results share memory with arguments as {_pairs(other.shared)}, "
            f"in eager as {_pairs(eager.shared)}",
        )
    found = found or _state(eager.state, other.state, tolerance, live)
    return found or _gradients(eager, other, tolerance)


def _pairs(shared: Sequence[tuple[int, int]]) -> str:
    return ", ".join(f"result {k} with argument {n}" for k, n in shared) or "nothing"


# ---- errors


def _error(eager: Exception | None, other: Exception | None, live: bool) -> Difference | None:
    if isinstance(other, StatorError) and not isinstance(eager, StatorError):
        return Difference("refused", f"is refused: {other}")
    if eager is None or other is None:
        said = "nothing" if other is None else repr(other)
        return Difference("error", f"raises {said}, eager {repr(eager) if eager else 'nothing'}")
    if not _same_class(eager, other, live):
        return Difference("error", f"raises {other!r}, eager {eager!r}")
    if is_raised_by_user(eager) and str(other) != _own_text(eager):
        return Difference("error", f"raises {other!r}, eager {eager!r}")
    return None


def _own_text(error: Exception) -> str:
    """The text that the user gave; pytest adds to that of an `assert` in a file of tests."""
    if not isinstance(error, AssertionError):
        return str(error)
    own, _, added = f"\n{error}".partition("\nassert ")
    return own.removeprefix("\n") if added else str(error)


def _same_class(eager: Exception, other: Exception, live: bool) -> bool:
    if isinstance(eager, NameError) and isinstance(other, NameError):
        return True  # a free variable of a nested function is a local of a rewritten block
    kind = type(eager)
    if not live:  # a file knows no classes of the user's: the builtin one below it
        kind = next(base for base in kind.__mro__ if base.__module__ == "builtins")
    return type(other) is kind


def is_raised_by_user(error: Exception | None) -> bool:
    """Does it come from a `raise` or an `assert` of the user's? Then its text is theirs, too."""
    frames = traceback.extract_tb(error.__traceback__) if error is not None else ()
    if not frames or is_library_file(frames[-1].filename):
        return False
    return (frames[-1].line or "").startswith(("raise", "assert"))


# ---- values


def _items(
    kind: str, want: Sequence[Item], got: Sequence[Item], tolerance: Tolerance, live: bool
) -> Difference | None:
    for one, other in zip(want, got, strict=False):
        text = _value(one.value, other.value, one.path, tolerance, live)
        if text is None and one.path != other.path:
            text = f"{one.path} is missing"
        if text is not None:
            return Difference(kind, text, one.path)
    if len(want) != len(got):
        return Difference(kind, f"{kind} has {len(got)} parts, eager has {len(want)}")
    return None


def _value(want: Any, got: Any, path: str, tolerance: Tolerance, live: bool) -> str | None:
    if isinstance(want, TreeSnapshot):
        return _tensor(want, got, path, tolerance)
    if isinstance(want, Container) and isinstance(got, Container):
        same = want.keys == got.keys and (want.kind == got.kind or not live)
        return None if same else f"{path} is {_shown(got)}, eager has {_shown(want)}"
    if type(want) is type(got) and _equal(want, got, tolerance):
        return None
    return f"{path} is {_shown(got)}, eager has {_shown(want)}"


def _equal(want: Any, got: Any, tolerance: Tolerance) -> bool:
    if isinstance(want, float | complex):
        limits = (tolerance.rtol or 0.0, tolerance.atol or 0.0)
        return repr(want) == repr(got) or _close(want, got, *limits)
    if want is got:
        return True
    if isinstance(want, numpy.ndarray):
        return _equal_arrays(want, got, tolerance)
    if isinstance(want, torch.nn.Module) or "__eq__" not in _defined(type(want)):
        return True  # objects without a meaning of `==`: their class is all there is to compare
    try:
        return bool(want == got)
    except (TypeError, ValueError, RuntimeError):
        return False


def _equal_arrays(
    want: numpy.ndarray[Any, Any], got: numpy.ndarray[Any, Any], tolerance: Tolerance
) -> bool:
    if want.dtype != got.dtype or want.shape != got.shape:
        return False
    if want.dtype.kind not in "fc":
        return numpy.array_equal(want, got)
    # float64 may hold what was computed in float32
    eps = max(float(numpy.finfo(dtype).eps) for dtype in (want.dtype, numpy.float32))
    rtol = max(tolerance.rtol or 0.0, ROUNDINGS * eps)
    return numpy.allclose(got, want, rtol, tolerance.atol or 0.0, equal_nan=True)


def _defined(cls: type) -> set[str]:
    """What the classes above `object` define."""
    return {name for base in cls.__mro__[:-1] for name in vars(base)}


def _close(want: complex, got: complex, rtol: float, atol: float) -> bool:
    if rtol == atol == 0.0 or not (math.isfinite(abs(want)) and math.isfinite(abs(got))):
        return False
    return abs(want - got) <= atol + rtol * abs(want)


def _shown(value: Any) -> str:
    if isinstance(value, Container):
        return f"a {value.kind} of {list(value.keys)!r}"
    if isinstance(value, TreeSnapshot):
        return f"a tensor {tensor_text(value.data)}"
    return f"{value!r} ({with_article(type(value).__name__)})"


def _tensor(want: TreeSnapshot, got: Any, path: str, tolerance: Tolerance) -> str | None:
    if not isinstance(got, TreeSnapshot):
        return f"{path} is {_shown(got)}, eager has a tensor"
    for name, a, c in (
        ("dtype", want.data.dtype, got.data.dtype),
        ("shape", tuple(want.data.shape), tuple(got.data.shape)),
        ("device", want.data.device, got.data.device),
        ("layout", want.data.layout, got.data.layout),
        ("requires_grad", want.requires_grad, got.requires_grad),
    ):
        if a != c:
            return f"{path} has {name} {c}, eager has {a}"
    wrong = unequal(want.data, got.data, tolerance)
    if not wrong.any():
        return None
    return f"{path} is {_two(want.data, got.data, wrong)}"


def unequal(want: torch.Tensor, got: torch.Tensor, tolerance: Tolerance) -> torch.Tensor:
    """Where two tensors of one dtype and shape differ; NaN equals NaN."""
    want, got = (one.to_dense() if one.layout != torch.strided else one for one in (want, got))
    if want.is_complex():
        real = unequal(want.real, got.real, tolerance)
        return real | unequal(want.imag, got.imag, tolerance)
    if not want.is_floating_point():
        return want != got
    if not tolerance.is_exact:
        return ~torch.isclose(
            got, want, rtol=tolerance.rtol or 0.0, atol=tolerance.atol or 0.0, equal_nan=True
        )
    zeros = (want == 0) & (torch.signbit(want) != torch.signbit(got))
    return ((want != got) & ~(want.isnan() & got.isnan())) | zeros


def _two(want: torch.Tensor, got: torch.Tensor, wrong: torch.Tensor) -> str:
    if want.numel() <= SHOWN:
        first, second = both_texts(got, want)
        return f"{first}, eager has {second}"
    place = tuple(wrong.nonzero()[0].tolist())
    first, second = both_texts(got[place], want[place])
    return (
        f"{first} at {list(place)}, eager has {second}; "
        f"{int(wrong.sum())} of {wrong.numel()} elements differ"
    )


def both_texts(one: torch.Tensor, other: torch.Tensor) -> tuple[str, str]:
    """Two tensors in words; with all digits only where they would be the same without."""
    texts = tensor_text(one), tensor_text(other)
    if texts[0] != texts[1]:
        return texts
    return tensor_text(one, digits=None), tensor_text(other, digits=None)


def tensor_text(tensor: torch.Tensor, digits: int | None = 6) -> str:
    """A short tensor by its numbers, a long one by its sizes."""
    if tensor.numel() > SHOWN or tensor.layout != torch.strided:
        return f"of shape {list(tensor.shape)}"
    return _numbers_text(tensor.tolist(), digits)


def _numbers_text(value: Any, digits: int | None) -> str:
    if isinstance(value, list):
        return f"[{', '.join(_numbers_text(item, digits) for item in value)}]"
    if digits is None or not isinstance(value, float):
        return repr(value)
    return repr(float(f"{value:.{digits}g}"))


# ---- state and gradients


def state_differs(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    """Has a call changed anything?"""
    return _state(before, after, Tolerance(), True) is not None


def _state(
    want: Mapping[str, Any], got: Mapping[str, Any], tolerance: Tolerance, live: bool
) -> Difference | None:
    """Of objects everything; of a model that was loaded, the tensors alone."""
    for path, value in want.items():
        if not live and (not isinstance(value, TreeSnapshot) or path not in got):
            continue
        if path not in got:
            return Difference("state", f"{_name(path)} is missing after the call")
        other = got[path]
        if not live and isinstance(value, TreeSnapshot) and isinstance(other, TreeSnapshot):
            other = replace(other, requires_grad=value.requires_grad)  # a model's buffers are data
        text = _value(value, other, f"after the call {_name(path)}", tolerance, live)
        if text is not None:
            return Difference("state", text)
    extra = [path for path in got if live and path not in want]
    return Difference("state", f"sets {_name(extra[0])}; eager does not") if extra else None


def _name(path: str) -> str:
    return f"`{path.lstrip('.') or 'the object'}`"


def _gradients(eager: Outcome, other: Outcome, tolerance: Tolerance) -> Difference | None:
    if eager.gradients is None or other.gradients is None:
        return None
    if (eager.backward is None) != (other.backward is None):
        said, wanted = (repr(one.backward or "nothing") for one in (other, eager))
        return Difference("gradient", f"computing gradients raises {said}, in eager {wanted}")
    for name, want in eager.gradients.items():
        if name in other.gradients:
            text = _gradient(want, other.gradients[name], name, tolerance)
            if text is not None:
                return Difference("gradient", text)
    return None


def _gradient(
    want: torch.Tensor | None, got: torch.Tensor | None, name: str, tolerance: Tolerance
) -> str | None:
    """None is as good as zeros: it is what an input gets that nothing depends on."""
    known = want if want is not None else got
    if known is None:
        return None
    want = torch.zeros_like(known) if want is None else want
    got = torch.zeros_like(known) if got is None else got
    wrong = unequal(want, got, tolerance.for_gradients(known.dtype))
    return f"the gradient of {_name(name)} is {_two(want, got, wrong)}" if wrong.any() else None
