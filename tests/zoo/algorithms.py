"""Algorithms as people write them: lists, dicts and the standard library over captured data."""

from __future__ import annotations

import bisect
import collections
import functools
import heapq
import itertools

import torch

from tests.zoo.programs import f, i, program

ANY = ({0},)
TWO = ({0}, {0})
WORDS = ((i(1, 3, 3, 2),), (i([5]),), (i([0, 0, 0]),), (i(5, 7, 5, 9, 7, 1),))
PAIRS = (
    (i(1, 2, 3), i(1, 3)),
    (i([1]), i([2])),
    (i(1, 2, 2, 1), i(2, 1, 2, 2, 1)),
    (i([]), i(1, 2)),
)
EDGES = (
    (i([[0, 1], [1, 2], [3, 4]]), i(5)),
    (i([[0, 1], [2, 1], [2, 3], [3, 0]]), i(6)),
    (i([[1, 0]]), i(2)),
)
WEIGHTED = (
    (i([[0, 1], [1, 2], [0, 2]]), f(1.0, 2.0, 5.0), i(3)),
    (i([[0, 1], [1, 2], [2, 3], [0, 3]]), f(1.0, 1.0, 1.0, 2.5), i(5)),
    (i([[0, 1]]), f([4.0]), i(2)),
)


@program(*PAIRS, dynamic=TWO)
def edit_distance(a, b):
    """Levenshtein's table."""
    a, b = a.tolist(), b.tolist()
    table = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for k in range(len(a) + 1):
        table[k][0] = k
    for k in range(len(b) + 1):
        table[0][k] = k
    for p in range(1, len(a) + 1):
        for q in range(1, len(b) + 1):
            cost = 0 if a[p - 1] == b[q - 1] else 1
            table[p][q] = min(table[p - 1][q] + 1, table[p][q - 1] + 1, table[p - 1][q - 1] + cost)
    return table[-1][-1]


@program(*PAIRS, dynamic=TWO)
def longest_common_subsequence(a, b):
    """The table, and the way back through it."""
    n, m = len(a), len(b)
    table = [[0 for _ in range(m + 1)] for _ in range(n + 1)]
    for p in range(n):
        for q in range(m):
            if a[p] == b[q]:
                table[p + 1][q + 1] = table[p][q] + 1
            else:
                table[p + 1][q + 1] = max(table[p][q + 1], table[p + 1][q])
    found = []
    p, q = n, m
    while p > 0 and q > 0:
        if a[p - 1] == b[q - 1]:
            found.append(a[p - 1].item())
            p, q = p - 1, q - 1
        elif table[p - 1][q] >= table[p][q - 1]:
            p -= 1
        else:
            q -= 1
    return found[::-1], table[n][m]


@program(
    (f(1.0, 2.0, 3.0), f(1.0, 3.0)), (f([1.0]), f([2.0])),
    (f(0.0, 1.0, 5.0, 2.0), f(1.0, 5.0, 1.0)),
    dynamic=TWO, trains=True,
)  # fmt: skip
def dynamic_time_warping(a, b):
    """Costs are tensors, with their gradients."""
    n, m = a.shape[0], b.shape[0]
    far = torch.tensor(float("inf"))
    cost = [[far] * (m + 1) for _ in range(n + 1)]
    cost[0][0] = torch.tensor(0.0)
    for p in range(1, n + 1):
        for q in range(1, m + 1):
            step = torch.minimum(torch.minimum(cost[p - 1][q], cost[p][q - 1]), cost[p - 1][q - 1])
            cost[p][q] = (a[p - 1] - b[q - 1]).abs() + step
    return cost[n][m]


@program(
    (f([[0.6, 0.4], [0.1, 0.9], [0.5, 0.5]]),), (f([[0.2, 0.8]]),),
    (f([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.4, 0.6]]),), dynamic=ANY,
)  # fmt: skip
def viterbi_with_lists(emissions):
    """Scores and back pointers as lists of lists."""
    moves = [[0.7, 0.3], [0.4, 0.6]]
    states = 2
    score = [[emissions[0, s].item() * 0.5 for s in range(states)]]
    back = []
    for t in range(1, emissions.shape[0]):
        score.append([0.0] * states)
        back.append([0] * states)
        for s in range(states):
            for before in range(states):
                value = score[t - 1][before] * moves[before][s] * emissions[t, s].item()
                if value > score[t][s]:
                    score[t][s] = value
                    back[t - 1][s] = before
    best = 0 if score[-1][0] >= score[-1][1] else 1
    path = [best]
    for pointers in reversed(back):
        path.append(pointers[path[-1]])
    path.reverse()
    return path


@program((i(2, 3, 4), i(3, 4, 5), i(5)), (i([1]), i([7]), i(0)),
         (i(1, 2, 3, 2), i(6, 10, 12, 7), i(5)),
         dynamic=({0}, {0}, None))  # fmt: skip
def knapsack(weights, values, capacity):
    """The table of best values."""
    room = int(capacity)
    best = [[0] * (room + 1) for _ in range(len(weights) + 1)]
    for k in range(1, len(weights) + 1):
        w, v = int(weights[k - 1]), int(values[k - 1])
        for c in range(room + 1):
            best[k][c] = best[k - 1][c]
            if w <= c and best[k - 1][c - w] + v > best[k][c]:
                best[k][c] = best[k - 1][c - w] + v
    return best[-1][room]


@program(*WEIGHTED, dynamic=({0}, {0}, None))
def floyd_warshall(edges, weights, n):
    """All distances, by three loops over a table."""
    n = int(n)
    far = float("inf")
    table = [[far] * n for _ in range(n)]
    for k in range(n):
        table[k][k] = 0.0
    for k in range(edges.shape[0]):
        a, b = edges[k].tolist()
        table[a][b] = min(table[a][b], weights[k].item())
    for k in range(n):
        for a in range(n):
            for b in range(n):
                if table[a][k] + table[k][b] < table[a][b]:
                    table[a][b] = table[a][k] + table[k][b]
    return torch.tensor(table)


@program(*WEIGHTED, dynamic=({0}, {0}, None))
def dijkstra_with_a_heap(edges, weights, n):
    """`heapq` over (distance, node), and lists of neighbours."""
    n = int(n)
    neighbours = [[] for _ in range(n)]
    for k in range(edges.shape[0]):
        neighbours[int(edges[k, 0])].append((int(edges[k, 1]), weights[k].item()))
    distance = [float("inf")] * n
    distance[0] = 0.0
    heap = [(0.0, 0)]
    while heap:
        d, node = heapq.heappop(heap)
        if d > distance[node]:
            continue
        for other, weight in neighbours[node]:
            new = d + weight
            if new < distance[other]:
                distance[other] = new
                heapq.heappush(heap, (new, other))
    return distance


@program(*EDGES, dynamic=({0}, None))
def breadth_first_order(edges, n):
    """A deque of nodes and lists of neighbours."""
    n = int(n)
    neighbours = [[] for _ in range(n)]
    for a, b in edges.tolist():
        neighbours[a].append(b)
        neighbours[b].append(a)
    seen = [False] * n
    order = []
    for start in range(n):
        if seen[start]:
            continue
        queue = collections.deque([start])
        seen[start] = True
        while queue:
            node = queue.popleft()
            order.append(node)
            for other in neighbours[node]:
                if not seen[other]:
                    seen[other] = True
                    queue.append(other)
    return order


@program(*EDGES, dynamic=({0}, None))
def union_find(edges, n):
    """Parents in a flat list, components as a dict of lists."""
    parent = list(range(int(n)))

    def find(x):
        while parent[x] != x:
            parent[x] = parent[parent[x]]
            x = parent[x]
        return x

    for k in range(edges.shape[0]):
        a, b = find(int(edges[k, 0])), find(int(edges[k, 1]))
        if a != b:
            parent[b] = a
    groups = {}
    for k in range(len(parent)):
        groups.setdefault(find(k), []).append(k)
    return [groups[root] for root in groups], len(groups)


@program(
    (i([[0, 1], [1, 2], [0, 3]]), i(4)), (i([[2, 1], [1, 0]]), i(3)), (i([[0, 1], [1, 0]]), i(3)),
    dynamic=({0}, None),
)  # fmt: skip
def topological_order(edges, n):
    """Kahn's algorithm."""
    n = int(n)
    after = collections.defaultdict(list)
    degree = [0] * n
    for a, b in edges.tolist():
        after[a].append(b)
        degree[b] += 1
    ready = [k for k in range(n) if degree[k] == 0]
    order = []
    while ready:
        node = ready.pop(0)
        order.append(node)
        for other in after[node]:
            degree[other] -= 1
            if degree[other] == 0:
                ready.append(other)
    return order if len(order) == n else None


@program(
    (f([[0.0, 0.0, 2.0, 2.0], [0.5, 0.0, 2.5, 2.0], [5.0, 5.0, 6.0, 6.0]]), f(0.9, 0.8, 0.7)),
    (f([[0.0, 0.0, 1.0, 1.0]]), f([0.5])),
    (f([[0.0, 0.0, 1.0, 1.0], [4.0, 4.0, 5.0, 5.0], [0.0, 0.0, 1.0, 1.1], [4.0, 4.0, 5.0, 5.2]]),
     f(0.3, 0.9, 0.8, 0.1)),
    dynamic=TWO,
)  # fmt: skip
def non_maximum_suppression(boxes, scores):
    """Kept boxes, and for each the ones it suppresses."""
    order = scores.argsort(descending=True).tolist()
    kept, suppressed = [], []
    while order:
        best = order.pop(0)
        kept.append(best)
        suppressed.append([])
        rest = []
        for other in order:
            low = torch.maximum(boxes[best, :2], boxes[other, :2])
            high = torch.minimum(boxes[best, 2:], boxes[other, 2:])
            inter = (high - low).clamp(min=0).prod()
            area = (boxes[best, 2:] - boxes[best, :2]).prod()
            if inter / area > 0.5:
                suppressed[-1].append(other)
            else:
                rest.append(other)
        order = rest
    return kept, suppressed


@program(
    (f([[0.0], [1.0], [10.0], [11.0]]), i(2)), (f([[3.0], [1.0]]), i(2)),
    (f([[0.0], [5.0], [5.5], [9.0], [0.5]]), i(3)), dynamic=({0}, None),
)  # fmt: skip
def k_means_with_groups(points, k):
    """Groups of rows, made again in each iteration."""
    k = int(k)
    centers = [points[c] for c in range(k)]
    for _ in range(3):
        groups = [[] for _ in range(k)]
        for p in points:
            distances = [((p - c) ** 2).sum().item() for c in centers]
            groups[distances.index(min(distances))].append(p)
        centers = [torch.stack(g).mean(0) if g else c for g, c in zip(groups, centers)]
    return torch.stack(centers), [len(g) for g in groups]


@program(*WORDS, dynamic=ANY)
def run_length_encoding(x):
    """[value, count] pairs, of which the last one grows."""
    runs = []
    for v in x.tolist():
        if runs and runs[-1][0] == v:
            runs[-1][1] += 1
        else:
            runs.append([v, 1])
    return runs


@program(
    (i(1, 2, 1, 2, 3),), (i([4]),), (i(1, 1, 1, 1),), (i(1, 2, 3, 1, 2, 3, 1, 2),), dynamic=ANY
)
def byte_pair_merges(x):
    """The most frequent pair becomes a new token, until no pair comes twice."""
    tokens = x.tolist()
    new = 100
    merges = []
    while True:
        counts = {}
        for a, b in zip(tokens, tokens[1:]):
            counts[(a, b)] = counts.get((a, b), 0) + 1
        best, most = None, 1
        for pair, count in counts.items():
            if count > most:
                best, most = pair, count
        if best is None:
            break
        merged, k = [], 0
        while k < len(tokens):
            if k + 1 < len(tokens) and (tokens[k], tokens[k + 1]) == best:
                merged.append(new)
                k += 2
            else:
                merged.append(tokens[k])
                k += 1
        merges.append(best)
        tokens = merged
        new += 1
    return tokens, merges


@program(*WORDS, dynamic=ANY)
def sliding_windows(x):
    """Windows of three, their sums, and the greatest by a deque of places."""
    values = x.tolist()
    windows = []
    for k in range(len(values)):
        windows.append([])
        for j in range(max(0, k - 2), k + 1):
            windows[-1].append(values[j])
    queue = collections.deque()
    greatest = []
    for k, v in enumerate(values):
        while queue and values[queue[-1]] <= v:
            queue.pop()
        queue.append(k)
        if queue[0] <= k - 3:
            queue.popleft()
        greatest.append(values[queue[0]])
    return windows, greatest


@program(
    (i([[1, 3], [2, 6], [8, 10]]),), (i([[5, 6]]),),
    (i([[7, 9], [1, 4], [3, 5], [5, 7], [20, 21]]),),
    dynamic=ANY,
)  # fmt: skip
def merged_intervals(x):
    """`out[-1][1] = max(...)`."""
    out = []
    for start, end in sorted(x.tolist()):
        if out and start <= out[-1][1]:
            out[-1][1] = max(out[-1][1], end)
        else:
            out.append([start, end])
    return out


@program(*WORDS, dynamic=ANY)
def histogram_and_most_common(x):
    """`Counter` of captured values, and its greatest entry."""
    counts = collections.Counter(x.tolist())
    top = max(counts.values())
    winners = [v for v, c in counts.items() if c == top]
    return dict(counts), winners, counts[3], counts[1000]


@program(*WORDS, dynamic=ANY)
def lru_cache_by_hand(x):
    """A dict whose oldest key goes."""
    cache, misses = {}, 0
    for v in x.tolist():
        if v in cache:
            value = cache.pop(v)
        else:
            value, misses = v * v, misses + 1
            if len(cache) >= 2:
                oldest = next(iter(cache))
                del cache[oldest]
        cache[v] = value
    return cache, misses


@program(
    (f([[0.1, 2.0, 0.3], [1.0, 0.2, 0.1], [0.3, 0.1, 3.0]]),), (f([[0.1, 0.9, 0.3]]),),
    (f([[2.0, 1.9, 0.3], [0.0, 0.2, 0.1], [0.3, 0.3, 0.2], [1.0, 2.0, 3.0]]),), dynamic=ANY,
)  # fmt: skip
def beam_search(logits):
    """Beams of (tokens, score); the best one at the end."""
    beams = [([], 0.0)]
    for step in range(logits.shape[0]):
        scores = torch.log_softmax(logits[step], 0)
        candidates = []
        for tokens, score in beams:
            for token in range(3):
                candidates.append((tokens + [token], score + scores[token].item()))
        candidates.sort(key=lambda c: c[1], reverse=True)
        beams = candidates[:2]
    tokens, score = max(beams, key=lambda beam: beam[1])
    return tokens, score


@program(*WORDS, dynamic=ANY)
def n_gram_blocking(x):
    """Which tokens may not follow: a dict from pairs to lists."""
    tokens = x.tolist()
    banned = {}
    for k in range(len(tokens) - 2):
        banned.setdefault((tokens[k], tokens[k + 1]), []).append(tokens[k + 2])
    last = (tokens[-2], tokens[-1]) if len(tokens) > 1 else (0, 0)
    return banned.get(last, []), len(banned)


@program(*WORDS, dynamic=ANY)
def smallest_by_heap(x):
    """`heappush`, `heappop`, `heapify`, `nsmallest`, `nlargest`, `heappushpop`."""
    heap = []
    for v in x.tolist():
        heapq.heappush(heap, v)
        if len(heap) > 3:
            heapq.heappop(heap)
    other = x.tolist()
    heapq.heapify(other)
    first = heapq.heappushpop(other, 2)
    ordered = [heapq.heappop(other) for _ in range(len(other))]
    return heap, first, ordered, heapq.nlargest(2, x.tolist()), heapq.nsmallest(2, x.tolist())


@program(*WORDS, dynamic=ANY)
def sums_groups_and_prefixes(x):
    """`accumulate`, `groupby`, `takewhile`, `dropwhile`."""
    values = x.tolist()
    sums = list(itertools.accumulate(values))
    products = list(itertools.accumulate(values, lambda a, b: a * b, initial=1))
    runs = [(key, len(list(group))) for key, group in itertools.groupby(values)]
    first = list(itertools.takewhile(lambda v: v < 5, values))
    rest = list(itertools.dropwhile(lambda v: v < 5, values))
    return sums, products, runs, first, rest


class Track:
    """A user's sequence over a list that grows."""

    def __init__(self):
        self.points = []

    def __len__(self):
        return len(self.points)

    def __getitem__(self, k):
        return self.points[k]

    def add(self, point):
        """One more."""
        self.points.append(point)


@program(*WORDS, dynamic=ANY)
def user_sequence(x):
    """`len`, an index and a loop over an object that grows."""
    track = Track()
    for v in x.tolist():
        if v % 2:
            track.add(v)
    total = 0
    for point in track:
        total += point
    return len(track), total, track[-1] if len(track) else None, track[0:2] if track else []


@program(*WORDS, dynamic=ANY)
def binary_search_insertion(x):
    """`bisect` in a list that grows."""
    ordered, places = [], []
    for v in x.tolist():
        places.append(bisect.bisect_left(ordered, v))
        bisect.insort(ordered, v)
    return ordered, places


@program(*WORDS, dynamic=ANY)
def longest_increasing_run(x):
    """Lengths and predecessors, and the run itself."""
    values = x.tolist()
    best = [1] * len(values)
    before = [-1] * len(values)
    for k in range(len(values)):
        for j in range(k):
            if values[j] < values[k] and best[j] + 1 > best[k]:
                best[k], before[k] = best[j] + 1, j
    at = best.index(max(best))
    run = []
    while at >= 0:
        run.append(values[at])
        at = before[at]
    return run[::-1]


@program(
    (f([[1.0, 2.0], [3.0, 4.0], [0.0, 1.0]]),), (f([[1.0, 1.0]]),), dynamic=ANY, trains=True,
)  # fmt: skip
def ctc_forward_with_lists(x):
    """The forward variables of a label sequence, as a list of lists of tensors."""
    labels = [0, 1, 0]
    alpha = [[x[0, 0], x[0, 1], torch.tensor(0.0)]]
    for t in range(1, x.shape[0]):
        alpha.append([])
        for s in range(3):
            total = alpha[t - 1][s]
            if s > 0:
                total = total + alpha[t - 1][s - 1]
            alpha[t].append(total * x[t, labels[s]])
    return alpha[-1][-1] + alpha[-1][-2]


@program(*WORDS, dynamic=ANY)
def padded_batches(x):
    """Batches by bucket, each padded to its longest."""
    buckets = {}
    for n in x.tolist():
        buckets.setdefault(n % 2, []).append([1] * n)
    out = []
    for key in buckets:
        longest = max(len(row) for row in buckets[key])
        for row in buckets[key]:
            while len(row) < longest:
                row.append(0)
        out.append(torch.tensor(buckets[key]).sum())
    return out


@program(*WORDS, dynamic=ANY)
def trie_of_prefixes(x):
    """Nodes in lists, with numbers for links."""
    children, ends = [[-1, -1]], [0]
    for v in x.tolist():
        node = 0
        for bit in range(3):
            side = (v >> bit) % 2
            if children[node][side] < 0:
                children[node][side] = len(children)
                children.append([-1, -1])
                ends.append(0)
            node = children[node][side]
        ends[node] += 1
    return len(children), ends


@program(*WORDS, dynamic=ANY)
def matrix_of_counts(x):
    """`reduce`, nested comprehensions and transposition of rows that were changed."""
    n = 3
    counts = [[0 for _ in range(n)] for _ in range(n)]
    values = x.tolist()
    for k in range(len(values) - 1):
        counts[values[k] % n][values[k + 1] % n] += 1
    total = functools.reduce(lambda a, b: a + b, [sum(row) for row in counts], 0)
    flipped = [[counts[a][b] for a in range(n)] for b in range(n)]
    return counts, flipped, total


@program(*PAIRS, dynamic=TWO)
def two_rows_only(a, b):
    """The edit distance with two rows that change their names."""
    previous = list(range(len(b) + 1))
    for p in range(len(a)):
        current = [p + 1]
        for q in range(len(b)):
            current.append(
                min(previous[q + 1] + 1, current[q] + 1, previous[q] + int(a[p] != b[q]))
            )
        previous = current
    return previous[-1]
