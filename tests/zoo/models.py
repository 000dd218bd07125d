"""Small models and algorithms as they are written."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from tests.zoo.programs import f, i, program, r


@program((i(3), i(3)), (i(1), i(0)), (i(2), i(5)))
class BeamSearch(nn.Module):
    """Beam search over a growing batch."""

    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(6, 4)
        self.out = nn.Linear(4, 6)

    def forward(self, start, n):
        beam = 2
        seqs = start.reshape(1, 1)
        scores = torch.zeros(1)
        for _ in range(n):
            logp = F.log_softmax(self.out(self.emb(seqs[:, -1])), -1)
            total = (scores.unsqueeze(1) + logp).flatten()
            k = min(beam, total.shape[0])
            scores, idx = total.topk(k)
            prev = idx // 6
            seqs = torch.cat([seqs[prev], (idx % 6).unsqueeze(1)], 1)
        return (seqs, scores)


@program((r(2, 3),), (r(1, 3, seed=1) * 5,), dynamic=({0},))
class ACT(nn.Module):
    """Adaptive computation time."""

    def __init__(self):
        super().__init__()
        self.cell = nn.RNNCell(3, 4)
        self.halt = nn.Linear(4, 1)

    def forward(self, x):
        h = torch.zeros(x.shape[0], 4)
        p = torch.zeros(x.shape[0], 1)
        acc = torch.zeros_like(h)
        n = 0
        while (p < 0.99).any() and n < 10:
            h = self.cell(x, h)
            q = torch.sigmoid(self.halt(h))
            q = torch.minimum(q, 1 - p)
            acc = acc + q * h
            p = p + q
            n += 1
        return (acc, n)


@program((r(6, 2), i(3)), (r(4, 2, seed=1), i(0)), (r(9, 2, seed=2), i(10)), dynamic=({0}, None))
def kmeans(x, n):
    """K-means with an empty cluster left where it was."""
    c = x[:2]
    for _ in range(n):
        d = ((x[:, None] - c[None]) ** 2).sum(-1)
        a = d.argmin(1)
        new = []
        for k in range(2):
            m = a == k
            if m.any():
                new.append(x[m].mean(0))
            else:
                new.append(c[k])
        nc = torch.stack(new)
        if torch.allclose(nc, c):
            break
        c = nc
    return c


@program(
    (r(5, 3), i(0)),
    (f([[9.0, 0.0, 0.0], [9.0, 0.0, 0.0]]), i(0)),
    (r(8, 3, seed=3), i(2)),
    dynamic=({0}, None),
)
def ctc_greedy(logits, blank):
    """Greedy CTC: repeats and blanks dropped."""
    prev = torch.tensor(-1)
    out = []
    for t in logits.argmax(-1):
        if t != blank and t != prev:
            out.append(t)
        prev = t
    if len(out) == 0:
        return torch.zeros(0, dtype=torch.int64)
    return torch.stack(out)


@program((i(1, 2, 3), i(1, 3)), (i([2]), i(1, 3)), (i(1, 1, 1, 1), i(2, 1, 3)), dynamic=({0}, {0}))
def levenshtein(a, c):
    """Edit distance row by row."""
    prev = torch.arange(c.shape[0] + 1)
    for x in a:
        cur = [prev[0] + 1]
        for j in range(c.shape[0]):
            cost = torch.where(x == c[j], 0, 1)
            cur.append(torch.minimum(torch.minimum(cur[j] + 1, prev[j + 1] + 1), prev[j] + cost))
        prev = torch.stack(cur)
    return prev[-1]


@program(
    (f(3.0, 1.0, 2.0), i(0)),
    (f([5.0]), i(0)),
    (f(4.0, 4.0, 1.0, 9.0, 7.0), i(4)),
    dynamic=({0}, None),
)
def quickselect(x, k):
    """Quickselect by masks in a `while True`."""
    while True:
        p = x[0]
        lo = x[x < p]
        hi = x[x > p]
        eq = x.shape[0] - lo.shape[0] - hi.shape[0]
        if k < lo.shape[0]:
            x = lo
        elif k < lo.shape[0] + eq:
            return p
        else:
            k = k - lo.shape[0] - eq
            x = hi


@program((f(1.0, 2.0), f(1.0)), (f(1.0, 2.0), f(0.0)), (f(0.1, 0.2), f(3.0)))
def runge_kutta_adaptive(y, t_end):
    """Adaptive steps of an integrator."""
    t = torch.zeros(())
    h = torch.tensor(0.5)
    steps = 0
    while t < t_end and steps < 50:
        if t + h > t_end:
            h = t_end - t
        k1 = -y
        k2 = -(y + h * k1)
        err = (h * (k2 - k1) / 2).abs().max()
        if err < 0.05:
            y = y + h * (k1 + k2) / 2
            t = t + h
            h = h * 1.5
        else:
            h = h * 0.5
        steps += 1
    return (y, steps)


@program((r(4, 4),), (r(1, 4, seed=1),), (r(7, 4, seed=2),), dynamic=({0},))
class MoETopK(nn.Module):
    """Experts chosen for each token, added in place."""

    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(4, 3)
        self.experts = nn.ModuleList(
            [nn.Sequential(nn.Linear(4, 6), nn.SiLU(), nn.Linear(6, 4)) for _ in range(3)]
        )

    def forward(self, x):
        w, idx = self.gate(x).softmax(-1).topk(2, -1)
        out = torch.zeros_like(x)
        for e, net in enumerate(self.experts):
            tok, slot = torch.where(idx == e)
            if tok.numel() == 0:
                continue
            out[tok] += net(x[tok]) * w[tok, slot].unsqueeze(-1)
        return out


@program(
    (
        f(
            [
                [0.0, 1.0, float("inf"), 7.0],
                [1.0, 0.0, 2.0, float("inf")],
                [float("inf"), 2.0, 0.0, 1.0],
                [7.0, float("inf"), 1.0, 0.0],
            ]
        ),
        i(0),
    ),
    (
        f(
            [
                [0.0, 1.0, float("inf"), float("inf")],
                [1.0, 0.0, float("inf"), float("inf")],
                [float("inf"), float("inf"), 0.0, 1.0],
                [float("inf"), float("inf"), 1.0, 0.0],
            ]
        ),
        i(2),
    ),
    (
        f(
            [
                [0.0, 1.0, float("inf"), 7.0],
                [1.0, 0.0, 2.0, float("inf")],
                [float("inf"), 2.0, 0.0, 1.0],
                [7.0, float("inf"), 1.0, 0.0],
            ]
        ),
        i(3),
    ),
)
def dijkstra(w, src):
    """Shortest paths with unreachable nodes."""
    n = w.shape[0]
    dist = torch.full((n,), float("inf"))
    dist[src] = 0
    done = torch.zeros(n, dtype=torch.bool)
    for _ in range(n):
        d = dist.masked_fill(done, float("inf"))
        u = d.argmin()
        if torch.isinf(d[u]):
            break
        done[u] = True
        dist = torch.minimum(dist, dist[u] + w[u])
    return dist


@program((f(3.0, 1.0, 2.0),), (f([1.0]),), (f(5.0, 4.0, 3.0, 2.0, 1.0),), dynamic=({0},))
def recur_merge_sort(x):
    """Merge sort by recursion on sizes."""
    if x.shape[0] <= 1:
        return x
    m = x.shape[0] // 2
    a, c = (recur_merge_sort(x[:m]), recur_merge_sort(x[m:]))
    out = torch.zeros_like(x)
    j = k = 0
    for t in range(x.shape[0]):
        if k >= c.shape[0] or (j < a.shape[0] and a[j] <= c[k]):
            out[t] = a[j]
            j += 1
        else:
            out[t] = c[k]
            k += 1
    return out


@program((i(1), i(2)), (i(0), i(0)), (i(2), i(2)))
def recur_ackermann(m, n):
    """Ackermann: a recursive call as an argument."""
    if m == 0:
        return n + 1
    if n == 0:
        return recur_ackermann(m - 1, n + 1)
    return recur_ackermann(m - 1, recur_ackermann(m, n - 1))


@program((f(0.0), f(1.0)), (f(0.0), f(4.0)), (f(1.0), f(1.1)))
def recur_simpson(a, c):
    """Adaptive quadrature by tree recursion."""
    m = (a + c) / 2
    whole = (c - a) * m * m
    halves = (c - a) / 2 * (((a + m) / 2) ** 2 + ((m + c) / 2) ** 2)
    if (whole - halves).abs() < 0.01:
        return halves
    return recur_simpson(a, m) + recur_simpson(m, c)
