"""Programs with state and effects: the statements that they may use, and what is watched.

What a call leaves in these objects, the next one finds: iterators, containers of containers,
attributes of objects, modules and classes, mutable defaults, and what a logger has been told.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import torch

STATE_SIMPLE = """
kept.count += {N}

Kept.total += {N}

{n} = Kept.total

{n} = kept.total + {N}

kept.total = {N}

Kept.names.append({W})

{n} = len(Kept.names)

kept.rows[0].append({N})

kept.rows[{N}].append({N})

kept.rows.append([{N}])

{n} = len(kept.rows[-1])

{k} = kept.rows[0]

{k.a} = kept.rows[-1]
{k.a}.append({N})

kept.rows[-1] = {K}

kept.value = {T}

{t} = {T} if kept.value is None else {T} + kept.value.sum()

kept.value = None

{n} = kept.grow({N})

kept.extra = {N}

{n} = getattr(kept, "extra", {N})

{c} = hasattr(kept, "extra")

del kept.extra

setattr(kept, "extra", {N})

vars(kept)["count"] = {N}

{n} = kept.__dict__.get("count", 0)

slotted.low += {N}

slotted.high = {N}

{n} = getattr(slotted, "high", {N})

del slotted.high

grid[{N} % 2][{N} % 2] = {N}

grid[0][1] += {N}

{n} = grid[{N} % 2][0]

grid[0], grid[1] = grid[1], grid[0]

{k} = [sum(row) for row in grid]

table[{W}].append({N})

table.setdefault({W}, []).append({N})

{n} = len(table.get({W}, []))

{k} = table.pop({W}, [])

table[{W}] = {K}

groups[{W}].append({N})

{n} = len(groups[{W}])

{n} = len(groups)

counter[{W}] += 1

counter.update([{W}, {W}])

{n} = counter[{W}]

queue.append({N})

queue.appendleft({N})

{n} = queue.popleft()

{n} = queue[-1]

queue.rotate(1)

{k} = list(queue)

seen.add({N})

seen.discard({N})

{n} = len(seen)

{c} = {N} in seen

{n} = next(numbers)

{n} = next(items, 7)

{n} = next(items)

{k} = [next(items, 0), next(items, 0)]

{c} = any(r > {N} for r in items)

{c} = {N} in items

{k} = list(itertools.islice(items, {N} % 3))

{s} = next(rows, {S})

{n} = remember({N})

{t} = scaled({T}, {N})

{t} = scaled({T})

{n} = squared({N} % 4)

cell.calls += {N}

cell.last = {T}

{t} = {T} if cell.last is None else {T} - cell.last.mean()

cell.history.append({N})

cell.history.append({S})

{n} = len(cell.history)

cell.history = cell.history[-2:]

cell.table[{W}] = {S}

{s} = cell.table.get({W}, {S})

cell.mean.add_({V})

cell.mean = cell.mean * 0.5 + {S}

{t} = cell({T})

{t} = cell.forward({T})

LOG.warning("%s at %s", {W}, {N})

LOG.warning("mean %.2f", float({S}))

print("kept", kept.count, len(kept.rows))

{i} = iter({K})
{n} = next({i}, 0)
{k} = list({i})

{i} = zip({K}, {L})
{a} = next({i}, None)
{n} = len(list({i}))

{i} = (r * 2 for r in {K})
{c} = any(r > {N} for r in {i})
{k} = list({i})

{i} = map(lambda r: r + {N}, {K})
{n} = next({i}, 0)
{n} = sum({i})

{i} = enumerate({K})
for {n}, {n} in {i}:
    break
{k} = [r for _, r in {i}]

{i} = [[{N}], [{N}, {N}]]
{i}[{N}].append({N})
{n} = sum(len(r) for r in {i})

{i} = {{"one": [], "two": [{N}]}}
{i}[{W}].append({N})
{k} = {i}["one"]

{i} = [[0] * 3 for _ in range(2)]
{i}[{N} % 2][{N} % 3] = {N}
{n} = sum(sum(r) for r in {i})

nest.inner.count += {N}

nest.inner.rows[0].append(nest.inner.count)

nest.inner = nest if {C} else nest.inner

pair.items.append({N})

pair.table[{W}] = {K}

{n} = len(pair.items) + len(pair.table)

counts[{W}][{W}] += 1

{n} = counts[{W}][{W}]

{i} = Made({N})
{n} = {i}.number

{n} = Made.made

holder.field = holder.field + {N}

{n} = holder.field

{n} = max([1, {N}], key=noted)

{n} = sorted([3, {N}], key=noted)[0]

{k} = list(filter(lambda r: noted(r) < 0, {K}))

bump(kept.count)

pairs[{W}, {N} % 2] = {N}

{n} = pairs.get(({W}, {N} % 2), {N})

pairs.setdefault(({W}, 0), {N})

{n} = len(pairs)

ordered[{W}] = {N}

ordered.move_to_end({W})

{k} = list(ordered.values())

stacks[{W}].append([{N}])

stacks[{W}][-1].append({N})

{n} = len(stacks[{W}])

{n} = next(ticks)

{n} = ticks.send({N})

{k} = [next(ticks), next(ticks)]

{i} = numbered({K})
{n} = next({i}, 0)
{k} = list({i})

{i} = numbered({K})
{n} = next({i}, 0)
{n} = {i}.send({N})

{i} = [[] for _ in range({N} % 4)]
for r in {i}:
    r.append({N})
{n} = sum(len(r) for r in {i})

{i} = []
for r in range({N} % 4):
    {i}.append([])
    {i}[-1].append(r)
{k} = [len(r) for r in {i}]

settings.scale = {N}

{n} = settings.scale + {N}

settings.names.append({W})

{c} = torch.is_grad_enabled()

{t} = hooked({T})

hooked.offset = {N}

hooked.register_buffer("extra", {T}, persistent=False)

{n} = len(hooked.log)

raise Raised(f"{{{N}}}")
"""

STATE_COMPOUND = """
for {n} in items:
    {LOOP}
    if {C}:
        break

for {n} in items:
    if {n} > {N}:
        break
    {LOOP}
else:
    {BLOCK}

for {n} in numbers:
    if {n} % 4 == 0 or {C}:
        break
    {LOOP}

{i} = iter({K}[:4])
for {n} in {i}:
    if {C}:
        break
    {LOOP}
{k} = list({i})

{f} = 3
while {f} > 0 and next(items, 0) > {N}:
    {f} -= 1
    {LOOP}

for {w}, {k} in list(table.items()):
    {k}.append({N})
    {LOOP}

for {k} in kept.rows:
    {k}.append({N})
    if {C}:
        break

for {k} in grid:
    {LOOP}

for {n}, {k} in enumerate(grid):
    {k}[{N} % 2] += {N}
    {LOOP}

for {n} in list(queue):
    {LOOP}

with busy() as {n}:
    {BLOCK}

with torch.no_grad():
    {c} = torch.is_grad_enabled()
    {BLOCK}

with torch.enable_grad():
    {BLOCK}
    {c} = torch.is_grad_enabled()

for {n} in numbered({K}[:3]):
    {LOOP}
    if {C}:
        break

for ({w}, {n}), {n} in list(pairs.items()):
    {LOOP}

for {w}, {n} in list(ordered.items()):
    ordered[{w}] = {n} + {N}
    {LOOP}

try:
    {BLOCK}
except Raised as error:
    {w} = str(error)
    raise KeyError({W}) from error

try:
    {BLOCK}
except Raised as error:
    LOG.warning("%s", error)
    {BLOCK}

try:
    {BLOCK}
except (IndexError, KeyError, StopIteration, AttributeError):
    {BLOCK}

try:
    {BLOCK}
finally:
    kept.count += 1

if {C}:
    raise Raised({W})
{BLOCK}

def {i}(r, log=[]):
    log.append({N})
    {BODY}
    return len(log)
{n} = {i}({T}) + {i}({T})
"""

PLAIN = (bool, int, float, complex, str, bytes, type(None), type, torch.Size, torch.dtype)
HIDDEN = frozenset(vars(torch.nn.Module()))
PARTS = (
    "kept", "slotted", "cell", "grid", "table", "groups", "counter", "queue", "seen", "pair",
    "counts", "notes", "pairs", "ordered", "stacks",
)  # fmt: skip


def reset_of(around: dict[str, Any]) -> Callable[[], None]:
    """Puts everything back as it was."""

    def reset() -> None:
        around["box"].__init__()
        around["TOTAL"] = 0
        around["begin"]()

    return reset


def watch_of(around: dict[str, Any]) -> Callable[[], Any]:
    """What a call can leave behind."""

    def watch() -> Any:
        state = {name: _contents(around[name]) for name in PARTS}
        state["box"] = _contents(around["box"])
        nest = around["nest"]
        state["nest"] = (nest.inner is nest, nest.count, _contents(nest.rows))
        state["inner"] = (nest.inner.count, _contents(nest.inner.rows))
        state["TOTAL"] = around["TOTAL"]
        state["class"] = (around["Kept"].total, list(around["Kept"].names))
        state["numbers"] = repr(around["numbers"])
        state["items"] = list(copy.copy(around["items"]))
        state["rows"] = [float(row) for row in copy.copy(around["rows"])]
        state["defaults"] = _contents(around["remember"].__defaults__)
        state["uses"] = _contents(around["scaled"].__kwdefaults__)
        state["messages"] = list(around["messages"].texts)
        state["made"] = around["Made"].made
        state["settings"] = _contents(vars(around["settings"]))
        state["hooked"] = (around["hooked"].offset, list(around["hooked"].log))
        state["ticks"] = around["ticked"][:]
        state["holder"] = (vars(around["holder"]).copy(), vars(around["Holder"])["field"].reads)
        return state

    return watch


def _contents(value: Any) -> Any:
    """A copy of what an object holds, as a tree of plain containers."""
    if type(value).__name__ in ("Kept", "Cell", "Box"):
        return {k: _contents(v) for k, v in vars(value).items() if k not in HIDDEN} | (
            {"mean": value.mean.detach().clone()} if hasattr(value, "mean") else {}
        )
    if type(value).__name__ == "Slotted":
        return {name: getattr(value, name, None) for name in ("low", "high")}
    if isinstance(value, dict):
        return {_contents(k): _contents(v) for k, v in value.items()}
    if isinstance(value, set):
        return sorted(map(_contents, value), key=repr)
    if isinstance(value, tuple):
        return tuple(map(_contents, value))
    if isinstance(value, list) or type(value).__name__ == "deque":
        return [_contents(one) for one in value]
    if isinstance(value, torch.Tensor):
        return value.detach().clone()
    return value if isinstance(value, PLAIN) else f"a {type(value).__name__}"
