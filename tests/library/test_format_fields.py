"""`str.format` with captured values reads fields as Python does, and raises what Python raises."""

import pytest
import torch

import stator

TEXTS = (
    "{} {}", "{0} {1} {0}", "{a} {}", "{a:>8}|{b!r}", "{:{}}|", "{0:{1}}|", "{:>{width}}|",
    "{c[0]} {c[1]}", "{d[key]}", "{2[0]}", "{x.shape}", "{x.shape[0]}", "{{}} {}",
    # errors
    "{} {0}", "{0} {}", "{:{0}}", "{5}", "{missing}", "{c[0]x}", "{c[]}", "{x.}", "{x.missing}",
    "{d[missing]}", "{:{:{}}}", "{c[0}",
)  # fmt: skip


class Point:
    """Something with attributes and items."""

    def __init__(self, shape):
        self.shape = shape


def outcome(function, *args):
    try:
        return function(*args)
    except (ValueError, IndexError, KeyError, AttributeError) as error:
        return type(error), str(error)


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_is_formatted_as_python_formats_it(text):
    def shown(x):
        n, m = x.sum().item(), int(x[0].item())
        return text.format(n, m, [n, m], a=n, b=m, c=[n, m], d={"key": n}, x=Point((m, 7)), width=9)

    x = torch.tensor([3.0, 4.5])
    static = stator.to_static(shown)
    for _ in range(2):
        assert outcome(static, x) == outcome(shown, x)
