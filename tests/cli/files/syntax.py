"""Some of what is converted, some of what is refused; running it would fail."""

from stator import not_to_static
from stator import to_static as static

raise RuntimeError("this file must not be run")


def helper(x):
    return [eval("x") for _ in range(3)]


@not_to_static
def alone(x):
    return eval("x")


class Model:
    @static
    def forward(self, x):
        try:
            x = helper(x)
        except* ValueError:
            x = alone(x)
        while x.sum() > 0 if x.any() else False:
            x = x - 1
        match x:
            case {"a": 1, **rest}:
                return rest
        return self.step(x)

    def step(self, x):
        for _ in range(3):
            try:
                x = x + 1
            finally:
                exec("x")
        return x


def unrelated(x):
    async def inner():
        return x

    return inner
