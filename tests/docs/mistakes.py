"""Twelve classic mistakes: code that goes wrong, and what its message leads to.

Each is run as a file `model.py`; docs/debugging.md shows the code, the message and the mended code.
"""

from __future__ import annotations

from dataclasses import dataclass

HEAD = "import stator\nimport torch\n\n"


@dataclass(frozen=True)
class Mistake:
    """Code that ends with a message, and the code that the message leads to."""

    title: str
    wrong: str
    right: str


MISTAKES = (
    Mistake(
        "The two sides of a branch differ",
        '''
@stator.to_static
def reduced(x):
    table = {}
    if x.sum() > 0:
        table["low"], table["high"] = x.min(), x.max()
    else:
        table["high"], table["low"] = x.max(), x.min()
    return table

reduced(torch.ones(3))
''',
        '''
@stator.to_static
def reduced(x):
    table = {"low": x.min(), "high": x.max()}
    if x.sum() > 0:
        table["low"] = x.mean()
    return table

reduced(torch.ones(3))
''',
    ),
    Mistake(
        "A name that one path leaves undefined",
        '''
@stator.to_static
def largest(x, limit):
    if x.max() > limit:
        found = x.max()
    return found

largest(torch.ones(3), torch.tensor(0.5))
largest(torch.ones(3), torch.tensor(2.0))
''',
        '''
@stator.to_static
def largest(x, limit):
    found = limit
    if x.max() > limit:
        found = x.max()
    return found

largest(torch.ones(3), torch.tensor(0.5))
largest(torch.ones(3), torch.tensor(2.0))
''',
    ),
    Mistake(
        "A condition with many elements",
        '''
@stator.to_static
def rectified(x):
    if x > 0:
        return x
    return x * 0

rectified(torch.tensor([-1.0, 1.0]))
''',
        '''
@stator.to_static
def rectified(x):
    return torch.where(x > 0, x, x * 0)

rectified(torch.tensor([-1.0, 1.0]))
''',
    ),
    Mistake(
        "A rank that grows in a loop",
        '''
@stator.to_static
def nested(x, n):
    while n > 0:
        x = x[None]
        n = n - 1
    return x

nested(torch.ones(3), torch.tensor(2))
''',
        '''
@stator.to_static
def nested(x, n: int):
    for _ in range(n):  # a Python number: unrolled
        x = x[None]
    return x

nested(torch.ones(3), 2)
''',
    ),
    Mistake(
        "A shape that depends on data",
        '''
@stator.to_static
def positive(x):
    return x[x > 0] + x

positive(torch.ones(3))
positive(torch.tensor([-1.0, 1.0, 2.0]))
''',
        '''
@stator.to_static
def positive(x):
    return torch.where(x > 0, x, 0) + x

positive(torch.ones(3))
positive(torch.tensor([-1.0, 1.0, 2.0]))
''',
    ),
    Mistake(
        "A numpy array in a list that grows",
        '''
@stator.to_static
def steps(x, n):
    kept = []
    while n > 0:
        kept.append(torch.ones(3).numpy())
        n = n - 1
    return [x + torch.from_numpy(one) for one in kept]

steps(torch.ones(3), torch.tensor(2))
''',
        '''
@stator.to_static
def steps(x, n):
    kept = []
    while n > 0:
        kept.append(torch.ones(3))
        n = n - 1
    return [x + one for one in kept]

steps(torch.ones(3), torch.tensor(2))
''',
    ),
    Mistake(
        "A wrong feed",
        '''
program = stator.static.Program()
with stator.static.program_guard(program):
    x = stator.static.data("x", [None, 4], "float32")
    y = x.sum()

executor = stator.static.Executor("cpu")
executor.run(program, feed={"x": torch.ones(2, 5)}, fetch_list=[y])
''',
        '''
program = stator.static.Program()
with stator.static.program_guard(program):
    x = stator.static.data("x", [None, 4], "float32")
    y = x.sum()

executor = stator.static.Executor("cpu")
executor.run(program, feed={"x": torch.ones(2, 4)}, fetch_list=[y])
''',
    ),
    Mistake(
        "Syntax that is not supported",
        '''
@stator.to_static
async def later(x):
    return x * 2

later(torch.ones(3))
''',
        '''
@stator.to_static
def later(x):
    return x * 2

later(torch.ones(3))
''',
    ),
    Mistake(
        "No source",
        '''
names = {}
exec("def double(x):\\n    return x * 2", names)
stator.to_static(names["double"])(torch.ones(3))
''',
        '''
names = {}
exec("def double(x):\\n    return x * 2", names)
double = stator.not_to_static(names["double"])
stator.to_static(lambda x: double(x))(torch.ones(3))
''',
    ),
    Mistake(
        "An assertion",
        '''
@stator.to_static
def normalised(x):
    total = x.sum()
    assert total > 0, f"the sum is {total:.1f}"
    return x / total

normalised(torch.ones(3))
normalised(-torch.ones(3))
''',
        '''
@stator.to_static
def normalised(x):
    total = x.sum()
    assert total != 0, f"the sum is {total:.1f}"
    return x / total

normalised(torch.ones(3))
normalised(-torch.ones(3))
''',
    ),
    Mistake(
        "Captured again and again",
        '''
class Rates:
    names = [f"rate_{k}" for k in range(40)]

for k, name in enumerate(Rates.names):
    setattr(Rates, name, k)

@stator.to_static
def scaled(x, step):
    return x * getattr(Rates, f"rate_{step}")

for step in range(40):
    scaled(torch.ones(3), step)
''',
        '''
rates = torch.arange(40)

@stator.to_static
def scaled(x, step):
    return x * rates[step]

for step in range(40):
    scaled(torch.ones(3), step)
''',
    ),
    Mistake(
        "A callee in C",
        '''
import math

@stator.to_static
def scaled(x):
    return x + math.frexp(x.sum().item())[0]

scaled(torch.ones(3))
''',
        '''
@stator.to_static
def scaled(x):
    return x + torch.frexp(x.sum()).mantissa

scaled(torch.ones(3))
''',
    ),
)  # fmt: skip
