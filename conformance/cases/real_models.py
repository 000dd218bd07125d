"""Small but complete models."""

import torch
from corpuslib import Case, f, i, r
from torch import nn


class LSTMUntilStop(nn.Module):
    """An LSTM cell rolled until the stop unit fires, at most 12 steps."""

    def __init__(self):
        super().__init__()
        self.cell = nn.LSTMCell(4, 6)
        self.stop = nn.Linear(6, 1)
        self.out = nn.Linear(6, 4)

    def forward(self, x, thr):
        h = torch.zeros(x.shape[0], 6)
        c = torch.zeros(x.shape[0], 6)
        outs = []
        step = 0
        while step < 12:
            h, c = self.cell(x, (h, c))
            x = self.out(h)
            outs.append(x)
            step += 1
            if torch.sigmoid(self.stop(h)).mean() < thr:
                break
        return torch.stack(outs, dim=1), h


class GRUVarLen(nn.Module):
    """A GRU over padded rows; each row stops changing at its own length."""

    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(3, 5)

    def forward(self, x, lens):
        h = torch.zeros(x.shape[0], 5)
        for t in range(int(lens.max())):
            live = (t < lens).unsqueeze(1)
            h = torch.where(live, self.cell(x[:, t], h), h)
        return h


def newton_sqrt(a):
    x = a.clamp(min=1.0)
    it = 0
    while (x * x - a).abs().max() > 1e-4 * a.max():
        x = 0.5 * (x + a / x)
        it += 1
        if it >= 50:
            break
    return x


def nms_tensor(boxes, scores):
    order = scores.argsort(descending=True)
    keep = torch.zeros(0, dtype=torch.int64)
    while order.numel() > 0:
        k = order[0]
        keep = torch.cat([keep, k.unsqueeze(0)])
        rest = order[1:]
        a, c = boxes[k], boxes[rest]
        tl = torch.maximum(a[:2], c[:, :2])
        br = torch.minimum(a[2:], c[:, 2:])
        wh = (br - tl).clamp(min=0)
        inter = wh[:, 0] * wh[:, 1]
        area = (a[2] - a[0]) * (a[3] - a[1]) + (c[:, 2] - c[:, 0]) * (c[:, 3] - c[:, 1])
        order = rest[inter / (area - inter) <= 0.5]
    return keep


class RoutedExperts(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(4, 3)
        self.experts = nn.ModuleList([nn.Linear(4, 4) for _ in range(3)])

    def forward(self, x):
        w, pick = self.gate(x).softmax(-1).max(-1)
        out = torch.zeros_like(x)
        for e, net in enumerate(self.experts):
            rows = (pick == e).nonzero().squeeze(1)
            if rows.numel() > 0:
                out = out.index_add(0, rows, net(x[rows]) * w[rows].unsqueeze(1))
        return out


class EarlyExitTransformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(
            [nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True) for _ in range(3)]
        )
        self.heads = nn.ModuleList([nn.Linear(8, 3) for _ in range(3)])
        self.eval()

    def forward(self, x, conf):
        for layer, head in zip(self.layers, self.heads):
            x = layer(x)
            p = head(x.mean(1)).softmax(-1)
            if p.max(-1).values.min() > conf:
                return p
        return p


def viterbi(emit, trans):
    score = emit[0]
    back = []
    for t in range(1, emit.shape[0]):
        total = score.unsqueeze(1) + trans
        best, arg = total.max(0)
        score = best + emit[t]
        back.append(arg)
    last = score.argmax()
    path = [last]
    for arg in reversed(back):
        last = arg[last]
        path.insert(0, last)
    return torch.stack(path), score.max()


class TreeLSTM(nn.Module):
    """Recursion over a binary tree given as left/right child tables (-1: a leaf)."""

    def __init__(self):
        super().__init__()
        self.leaf = nn.Linear(3, 4)
        self.comb = nn.Linear(8, 4)

    def node(self, x, left, right, k):
        if left[k] < 0:
            return torch.tanh(self.leaf(x[k]))
        a = self.node(x, left, right, left[k])
        c = self.node(x, left, right, right[k])
        return torch.tanh(self.comb(torch.cat([a, c])))

    def forward(self, x, left, right):
        return self.node(x, left, right, torch.tensor(0))


def power_iteration(a, tol):
    v = torch.ones(a.shape[0]) / a.shape[0] ** 0.5
    lam = torch.zeros(())
    for k in range(100):
        w = a @ v
        new = w @ v
        v = w / w.norm()
        if (new - lam).abs() < tol:
            lam = new
            break
        lam = new
    return lam, v.abs()


class CachedDecoder(nn.Module):
    """One attention layer decoded token by token with a growing key/value cache."""

    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(9, 8)
        self.q, self.k, self.v, self.o = (nn.Linear(8, 8) for _ in range(4))

    def attend(self, x, cache):
        k, v = self.k(x), self.v(x)
        if cache is not None:
            k = torch.cat([cache["k"], k], dim=0)
            v = torch.cat([cache["v"], v], dim=0)
        cache = {"k": k, "v": v}
        att = (self.q(x) @ k.t() / 8**0.5).softmax(-1)
        return x + self.o(att @ v), cache

    def forward(self, tok, n):
        cache = None
        out = []
        for _ in range(n):
            h, cache = self.attend(self.emb(tok).unsqueeze(0), cache)
            tok = (h @ self.emb.weight.t())[0].argmax()
            out.append(tok)
        return torch.stack(out), cache["k"]


def bisection(c, lo, hi):
    flo = lo**3 - c
    while hi - lo > 1e-3:
        mid = (lo + hi) / 2
        fm = mid**3 - c
        if fm == 0:
            return mid
        if (fm < 0) == (flo < 0):
            lo, flo = mid, fm
        else:
            hi = mid
    return (lo + hi) / 2


BX = f(
    [
        [0.0, 0.0, 10.0, 10.0],
        [1.0, 1.0, 10.0, 10.0],
        [20.0, 20.0, 30.0, 30.0],
        [21.0, 20.0, 30.0, 31.0],
    ]
)
SC = f(0.9, 0.8, 0.7, 0.95)
CASES = [
    Case(
        "lstm_until_stop",
        LSTMUntilStop,
        [
            (r(0, 2, 4), f(0.4730)),
            (r(0, 2, 4), f(0.9)),
            (r(3, 3, 4), f(0.0)),
            (r(5, 1, 4), f(0.4720)),
        ],
        ({0: "B"}, None),
        paths=3,
        origin="seed: LSTM with stop / paddle test_lstm",
        paddle_listed="supported",
    ),
    Case(
        "gru_var_len",
        GRUVarLen,
        [(r(0, 2, 5, 3), i(3, 5)), (r(1, 2, 5, 3), i(1, 2)), (r(2, 3, 4, 3), i(4, 0, 2))],
        ({0: "B", 1: "T"}, {0: "B"}),
        paths=3,
        origin="own",
        paddle_listed="supported",
    ),
    Case(
        "newton_sqrt",
        newton_sqrt,
        [(f(2.0, 9.0),), (f(1.0, 1.0),), (f(1e4, 3.0, 5.0),)],
        ({0: "N"},),
        paths=3,
        origin="own",
        paddle_listed="supported",
    ),
    Case(
        "nms_tensor",
        nms_tensor,
        [(BX, SC), (BX + f([[0.0], [50.0], [90.0], [150.0]]), SC), (BX[:1], SC[:1])],
        ({0: "N"}, {0: "N"}),
        paths=3,
        origin="own",
    ),
    Case(
        "routed_experts",
        RoutedExperts,
        [(r(0, 6, 4),), (r(1, 1, 4),), (r(2, 3, 4),)],
        ({0: "B"},),
        paths=2,
        origin="own (MoE)",
    ),
    Case(
        "early_exit_transformer",
        EarlyExitTransformer,
        [(r(0, 2, 5, 8), f(0.428)), (r(1, 2, 3, 8), f(0.99)), (r(2, 1, 4, 8), f(0.0))],
        ({0: "B", 1: "T"}, None),
        paths=2,
        origin="own",
    ),
    Case(
        "viterbi",
        viterbi,
        [(r(0, 4, 3), r(10, 3, 3)), (r(1, 6, 3), r(11, 3, 3)), (r(2, 1, 3), r(12, 3, 3))],
        ({0: "T"}, None),
        paths=2,
        origin="own",
        paddle_listed="supported",
    ),
    Case(
        "tree_lstm",
        TreeLSTM,
        [
            (r(0, 5, 3), i(1, -1, 3, -1, -1), i(2, -1, 4, -1, -1)),
            (r(1, 5, 3), i(-1, -1, -1, -1, -1), i(-1, -1, -1, -1, -1)),
            (r(2, 5, 3), i(1, 3, -1, -1, -1), i(2, 4, -1, -1, -1)),
        ],
        paths=3,
        origin="own (recursion on data)",
        paddle_listed="unsupported",
    ),
    Case(
        "power_iteration",
        power_iteration,
        [
            (f([[2.0, 0.0], [0.0, 1.0]]), f(1e-4)),
            (f([[2.0, 1.0], [1.0, 1.9]]), f(1e-4)),
            (f([[1.0, 0.0], [0.0, 1.0]]), f(1e-3)),
        ],
        paths=3,
        origin="own",
        paddle_listed="supported",
    ),
    Case(
        "cached_decoder",
        CachedDecoder,
        [(i(3), i(3)), (i(1), i(1)), (i(7), i(6))],
        paths=3,
        origin="own (KV cache)",
    ),
    Case(
        "bisection",
        bisection,
        [(f(8.0), f(0.0), f(4.0)), (f(3.0), f(0.0), f(2.0)), (f(1.0), f(0.9999), f(1.0001))],
        paths=3,
        origin="own",
        paddle_listed="supported",
    ),
]
