"""Modules with buffers, submodules and state."""

import torch
from corpuslib import Case, f, r
from torch import nn


class MethodBranch(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.alpha = 0.3

    def gate(self, h):
        if h.mean() > self.alpha:
            return h * 2
        return torch.tanh(h)

    def forward(self, x):
        h = self.gate(self.fc(x))
        return self.gate(h + x)


class LayerStackBreak(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(4)])

    def forward(self, x, thr):
        for k, layer in enumerate(self.layers):
            x = layer(x) * 2
            if x.norm() < thr:
                break
        return x


def _double_out(mod, args, out):
    return out * 2 if out.sum() > 0 else out


def _shift_in(mod, args):
    return (args[0] + 0.1,)


class Hooked(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(3, 3)
        self.b = nn.Linear(3, 3)
        self.a.register_forward_hook(_double_out)
        self.b.register_forward_pre_hook(_shift_in)

    def forward(self, x):
        return self.b(self.a(x))


class CondBlock(nn.Module):
    def forward(self, x):
        if x.std() > 1:
            x = x / x.std()
        return x


class SequentialCond(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(4, 8), CondBlock(), nn.ReLU(), nn.Linear(8, 2), CondBlock()
        )

    def forward(self, x):
        return self.net(x * 5)


class PropertyConfig(nn.Module):
    def __init__(self):
        super().__init__()
        self.cfg = {"hidden": 3, "mode": "sum"}
        self.w = nn.Parameter(torch.ones(3))

    @property
    def width(self):
        return self.cfg["hidden"]

    def forward(self, x):
        if x.shape[-1] != self.width:
            raise ValueError("bad width")
        y = getattr(torch, self.cfg["mode"])(x * self.w)
        if y > self.width:
            return y - self.width
        return y


class Scorer:
    def __init__(self, w):
        self.w = w

    def __call__(self, x):
        s = (x * self.w).sum()
        if s > 0:
            return s
        return -s * 0.1


class PlainCallableHelper(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.tensor([1.0, 2.0]))
        self.scorer = Scorer(self.w)

    def forward(self, x):
        return x * self.scorer(x)


class IndexModuleList(nn.Module):
    def __init__(self):
        super().__init__()
        self.experts = nn.ModuleList([nn.Linear(3, 2) for _ in range(3)])

    def forward(self, x):
        k = int(x.argmax())
        return self.experts[k](x)


class OptionalPart(nn.Module):
    def __init__(self):
        super().__init__()
        self.proj = None
        self.norm = nn.LayerNorm(4)
        self.drop = nn.Dropout(0.5)

    def forward(self, x):
        if self.proj is not None:
            x = self.proj(x)
        if self.norm is not None and x.abs().max() > 1:
            x = self.norm(x)
        if not self.training:
            x = self.drop(x)
        return x


X4 = [(r(0, 2, 4),), (r(1, 3, 4, shift=3),), (r(2, 1, 4, shift=-3),)]
CASES = [
    Case(
        "method_branch",
        MethodBranch,
        X4,
        ({0: "B"},),
        origin="paddle NetWithControlFlowIf",
        paddle_listed="supported",
    ),
    Case(
        "layer_stack_break",
        LayerStackBreak,
        [(r(0, 4), f(1.7)), (r(1, 4), f(0.0)), (r(2, 4), f(100.0))],
        paths=3,
        origin="own (early exit)",
    ),
    Case(
        "hooked",
        Hooked,
        [(r(0, 2, 3),), (r(1, 2, 3, shift=-3),), (r(1, 2, 3, shift=6),)],
        origin="paddle test_layer_hook",
    ),
    Case(
        "sequential_cond",
        SequentialCond,
        [(r(0, 2, 4),), (r(1, 3, 4, scale=0.01),), (r(2, 2, 4, scale=9),)],
        ({0: "B"},),
        origin="paddle test_container",
        paddle_listed="supported",
    ),
    Case(
        "property_config",
        PropertyConfig,
        [(f(1.0, 2.0, 3.0),), (f(-1.0, -2.0, 3.0),)],
        origin="paddle test_jit_property_save",
    ),
    Case(
        "plain_callable_helper",
        PlainCallableHelper,
        [(f(1.0, 2.0),), (f(-1.0, -2.0),)],
        origin="paddle test_convert_call (__call__)",
    ),
    Case(
        "index_module_list",
        IndexModuleList,
        [(f(1.0, 2.0, 3.0),), (f(5.0, 2.0, 3.0),), (f(1.0, 7.0, 3.0),)],
        paths=1,
        origin="own (module chosen by data)",
    ),
    Case(
        "optional_part",
        OptionalPart,
        [(r(0, 2, 4),), (r(1, 3, 4, scale=0.01),)],
        ({0: "B"},),
        origin="paddle test_isinstance",
        paddle_listed="supported",
    ),
]
