"""The statements of random programs, with holes as tests/fuzz/grammar.py has them."""

from __future__ import annotations

# each is drawn as often as any other of those that a program may use
SIMPLE = """
{t} = {T}

{t} = {T}

{n} = {N}

{n} = {N}

{v} = {V}

{s} = {S}

{q} = {Q}

{c} = {C}

{w} = {W}

{o} = {O}

{l} = {L}

{k} = {K}

{d} = {D}

{p} = {P}

{a} = {A}

{u} = {N}

{n} = {u}

{n} += {N}

{n} -= {N}

{v} *= {V}

{t} = {t} + {T}

{t} += {T}

{t}.add_({V})

{t}[{N}] = {V}

{t}[:{N}] = {V}

{t}[{t} > {V}] = {V}

{t.a}[1:] += {V}
{s} = {t.a}.sum()

{q.a} = {t}[:2]
{q.a} *= 2.0

{l}.append({T})

{l}.insert({N}, {T})

{t} = {l}.pop()

{l}[{N}] = {T}

{l}.extend({L})

{l} += [{T}]

{l.b} = {l.a}
{l.b}.append({T})

{k}.append({N})

{k}.insert({N}, {N})

{n} = {k}.pop()

{n} = {k}.pop(0)

{k}[{N}] = {N}

{k}[1:] = {K}

{k}.sort()

{k}.reverse()

del {k}[0]

{d}[{W}] = {N}

{d}['three'] = {N}

{n} = {d}.pop({W}, {N})

{n} = {d}.pop({W})

{d}.update({D})

{d}.setdefault({W}, {N})

del {d}[{W}]

del {n}

del {u}

print({N}, {W})

print(f"{{{N}}} {{{V}:.2f}} {{{W}!r:>6}}")

print("t", {A})

assert {C}, f"{{{W}}} at {{{N}}}"

assert {C}

{n.a}, {n.b} = {n.b}, {n.a}

{t}, {n} = {P}

{n}, *{k} = {K}

{n}, {n} = {K}

({t}, {n}), {w} = {P}, {W}

{g} = {G}

{t} = {g}({T})

box.count += {N}

box.value = {T}

{t} = {T} if box.value is None else box.value

{n} = box.count

bump({N})

{n} = TOTAL + {N}

{t} = halved({T}, {N})

{o} = first_above({L}, {V})

{n} = countdown({N})

{n} += 1 if {C} else {N}

{v} = {V} if {C} else {N}

{a} = {C} and {A} or {A}
"""

COMPOUND = """
if {C}:
    {BLOCK}

if {C}:
    {BLOCK}
else:
    {BLOCK}

if {C}:
    {BLOCK}
elif {C}:
    {BLOCK}
else:
    {BLOCK}

if {C}:
    {u.a} = {N}
{BLOCK}
{n} = {u.a}

if {C}:
    raise ValueError(f"{{{W}}} {{{N}}}")

if {C}:
    raise KeyError({W})
{BLOCK}

{f} = 3
while {f} > 0 and {C}:
    {f} -= 1
    {LOOP}

{f} = 3
while {C}:
    {f} -= 1
    if {f} < 0:
        break
    {LOOP}

{f} = 0
while True:
    {f} += 1
    if {f} > 3 or {C}:
        break
    {LOOP}

{f} = 3
while {f} > 0 and {C}:
    {f} -= 1
    {LOOP}
else:
    {BLOCK}

for {n} in range({N} % 4):
    {LOOP}

for {n} in range(3, {N}, -1):
    {LOOP}
    if {n} < 0:
        break

for {n} in range({N} % 4):
    {LOOP}
else:
    {BLOCK}

for {t} in {L}:
    {LOOP}
    if {C}:
        break

for {n} in list({K})[:4]:
    {LOOP}

for {s} in {Q}[:3]:
    {LOOP}

for {n}, {t} in enumerate({L}[:4]):
    {LOOP}

for {n}, {s} in enumerate({Q}[:3]):
    {LOOP}

for {n}, {s} in zip({K}[:3], {Q}):
    {LOOP}

for {w}, {n} in list({d}.items()):
    {LOOP}

for {w} in {d}:
    {n} = {d}[{w}]
    {LOOP}

for {i} in range(2):
    {LOOP}

for {t} in steps({T}, {N}):
    {LOOP}

for {n} in reversed({K}[:3]):
    {LOOP}

try:
    {BLOCK}
except ValueError:
    {BLOCK}

try:
    {BLOCK}
except (KeyError, IndexError):
    {BLOCK}
else:
    {BLOCK}

try:
    {BLOCK}
except NameError:
    {BLOCK}

try:
    {BLOCK}
finally:
    {SIMPLE}

try:
    {BLOCK}
except (AssertionError, ZeroDivisionError) as error:
    print(type(error).__name__, error)
finally:
    {SIMPLE}

try:
    {BLOCK}
except Exception as error:
    {w} = type(error).__name__

with torch.no_grad():
    {BLOCK}

def {i}(r):
    {BODY}
    return r + 1.0
{a} = {i}({T})

def {i}():
    {BODY}
{i}()

match {N}:
    case 0:
        {BLOCK}
    case {n} if {C}:
        {BLOCK}
    case _:
        {BLOCK}

match {K}:
    case []:
        {BLOCK}
    case [{n}, *{k}]:
        {BLOCK}

match {W}:
    case "one":
        {BLOCK}
    case "two" | "three":
        {BLOCK}

match {O}:
    case None:
        {BLOCK}
    case {t}:
        {BLOCK}
"""

JUMPS = {"loop": ("break", "continue"), "any": ("return {A}",)}
