"""The grammar of random programs, as data: text with holes.

{T}     an expression of this kind (upper case), drawn from EXPRESSIONS
{t}     a name of this kind (lower case)
{n.a}   the same name wherever `.a` stands in one template
{i}     a name of its own, made for this statement
{BLOCK} statements; {LOOP} statements in which `break` and `continue` may stand;
{BODY}  statements of a nested function

T t  float vectors as long as x      Q q  float vectors of any length    S s  0-d floats
N n  ints     V v  floats            C c  truth values                   W w  strings
O o  None or a float vector          L l  lists of vectors               K k  lists of ints
D d  dicts of ints                   P p  pairs of a vector and an int   U u  perhaps unbound
A a  anything                        G g  functions of a vector
"""

from __future__ import annotations

NAMES = {
    "t": ("t0", "t1"), "q": ("q0", "q1"), "s": ("s0",), "n": ("n0", "n1", "n2"),
    "v": ("v0", "v1"), "c": ("c0",), "w": ("w0",), "o": ("o0", "o1"), "l": ("l0", "l1"),
    "k": ("k0", "k1"), "d": ("d0",), "p": ("p0",), "u": ("u0", "u1"), "a": ("a0",), "g": ("g0",),
}  # fmt: skip

# what binds a name at the start of a program
FIRST = {
    "t": ("x", "x * 2.0", "torch.zeros_like(x)", "x + y"),
    "q": ("x", "torch.arange(4.0)", "x[:2]", "torch.cat([x, x])"),
    "s": ("x.sum()", "torch.tensor(0.5)"),
    "n": ("0", "1", "2", "int(y)", "x.shape[0]", "y.item()"),
    "v": ("0.5", "float(y)", "1.5"),
    "c": ("True", "False", "x.sum() > 0", "bool(y > 1)"),
    "w": ("'one'", "'two'", "'one' if y > 1 else 'two'"),
    "o": ("None", "x", "x if y > 1 else None"),
    "l": ("[]", "[x]", "[x, x * 2.0]"),
    "k": ("[]", "[1, 2, 3]", "[int(y), 1]"),
    "d": ("{}", "{'one': 1}", "{'one': int(y), 'two': 2}"),
    "p": ("(x, 1)", "(x, int(y))"),
    "a": ("None", "0", "x"),
    "g": ("torch.tanh", "lambda r: r + 1.0"),
}  # fmt: skip

EXPRESSIONS = {
    "T": (
        "{t}", "{t}", "x", "{T} + {T}", "{T} - {S}", "{T} * {V}", "{T} * {N}", "-{T}", "{T} / 2",
        "torch.tanh({T})", "{T}.abs()", "torch.where({T} > {V}, {T}, {T})",
        "({T} if {C} else {T})", "{T}.clamp(min={V})", "{g}({T})", "halved({T}, {N})",
        "({t} := {T})", "{p}[0]", "sum({l}, {T})", "({o} or {T})",
        "({o} if {o} is not None else {T})", "{T}.clone()", "torch.stack([{T}, {T}]).sum(0)",
        "{L}[{N}]", "{t}.detach()", "{T}.flip(0)", "max({L}, key=lambda r: r.sum())",
        "sorted({l}, key=lambda r: float(r.sum()))[0]", "{T}.reshape(-1)",
        "{T}.to(torch.float32)", "{T} + {T}.shape[0]",
    ),
    "Q": (
        "{q}", "{T}", "{Q}[1:]", "{Q}[:{N}]", "torch.cat([{Q}, {Q}])[:8]", "{Q} * 2",
        "{Q}[{Q} > {V}]", "torch.arange({N} % 5) * 1.0", "({Q} if {C} else {Q})", "{Q}[::2]",
        "torch.stack({l}).sum(1)", "torch.cat({l})[:8]", "torch.zeros({N} % 4)",
        "torch.nonzero({Q})[:, 0] * 1.0", "torch.cat([{Q}, {S}.reshape(1)])[:8]",
    ),
    "S": (
        "{s}", "{T}.sum()", "{Q}.sum()", "{T}.mean()", "{S} + {S}", "{S} * {N}",
        "({S} if {C} else {S})", "{T}[0]", "{Q}[{N}]", "torch.tensor({V})", "{S} - {V}",
        "{T}.max()", "-{S}", "(y * 0.5)",
    ),
    "N": (
        "{n}", "{n}", "0", "1", "2", "3", "-1", "int({S})", "int(y)", "y.item()", "len({L})",
        "len({K})", "{Q}.shape[0]", "x.size(0)", "({N} + {N})", "({N} - {N})", "({N} * 2)",
        "({N} // 2)", "({N} % 3)", "max({N}, {N})", "min({N}, {N})", "abs({N})", "int({C})",
        "({N} if {C} else {N})", "({n} := {N})", "({N} and {N})", "({N} or {N})", "sum({K})",
        "{d}.get({W}, {N})", "{p}[1]", "{K}[{N}]", "{K}[0]", "len({Q})", "countdown({N})",
        "int({V})", "len({W})", "round({V})", "{d}[{W}]", "(({N}) % ({N}))", "len({d})",
        "{K}.count({N})", "{K}.index({N})", "max({K})", "sum([r for r in {K} if r > {N}])",
        "next((r for r in {K} if r > {N}), 7)", "{Q}.numel()",
        "sum(1 for r in {L} if r.sum() > {V})", "int({Q}.sum().item())", "-{N}", "{u}",
    ),
    "V": (
        "{v}", "{v}", "0.5", "1.0", "-0.25", "float({S})", "({N} / 2)", "({V} + {V})",
        "{S}.item()", "({V} * {V})", "({V} if {C} else {V})", "min({V}, {V})", "abs({V})",
        "float({N})", "-{V}", "({V} - {N})", "math.floor({V})", "({V} // 0.5)", "round({V}, 1)",
        "sum({T}.tolist())",
    ),
    "C": (
        "{S} > {V}", "{S} > {V}", "{N} > {N}", "{N} == {N}", "{N} < {N} <= {N}",
        "{S} < {S} < {S}", "({C} and {C})", "({C} or {C})", "not {C}", "{c}", "{o} is None",
        "{o} is not None", "{N} in {K}", "{W} in {d}", "{W} == {W}", "({T} > {V}).any()",
        "bool(({T} > {V}).all())", "{L}", "{N}", "isinstance({o}, torch.Tensor)",
        "({n} := {N}) > 1", "{V} >= {N}", "{K}", "{d}", "any(r.sum() > {V} for r in {L})",
        "all([r > {N} for r in {K}])", "{N} not in {K}", "y > {N}", "{Q}.shape[0] > {N}",
        "{C} == {C}", "bool({S})", "{p}[0].sum() > {p}[1]", "{S} > {V} > {N}", "({c} := {C})",
        "{W} != 'two'", "(True if {C} else False)", "type({V}) is float",
    ),
    "W": (
        "'one'", "'two'", "'three'", "{w}", "('one' if {C} else 'two')", "({W} if {C} else {W})",
        "{w}.upper().lower()", "['one', 'two', 'three'][{N} % 3]",
    ),
    "O": (
        "None", "{o}", "{T}", "({T} if {C} else None)", "({o} if {C} else {O})",
        "first_above({L}, {V})",
    ),
    "L": (
        "{l}", "{l}", "[{T}]", "[{T}, {T}]", "[{T} * r for r in range({N} % 4)]", "{l} + [{T}]",
        "{l}[1:]", "{l}[:{N}]", "[r for r in {L} if r.sum() > {V}]", "list(reversed({l}))",
        "[{T}] * 2", "list(steps({T}, {N}))", "[r + 1.0 for r in {L}]", "({L} if {C} else {L})",
        "{l}[::-1]", "sorted({l}, key=lambda r: float(r.sum()))", "list({l})",
    ),
    "K": (
        "{k}", "{k}", "[{N}]", "[{N}, {N}]", "[{N}, {N}, {N}]", "list(range({N} % 4))",
        "{k} + [{N}]", "[r * 2 for r in {K}]", "[r for r in {K} if r > {N}]", "{k}[1:]",
        "{k}[:{N}]", "sorted({K})", "[int(r) for r in {Q}[:4]]", "{Q}[:3].int().tolist()",
        "({K} if {C} else {K})", "{k}[::-1]", "[r + s for r, s in zip({K}, {K})]",
        "[r for r in {K} for s in range(r % 3)]", "list({d}.values())", "[0] * ({N} % 4)",
        "[*{K}, {N}]",
    ),
    "D": (
        "{d}", "{{'one': {N}}}", "{{'one': {N}, 'two': {N}}}",
        "{{r: {N} for r in ('one', 'two') if {C}}}", "dict({d})", "{{**{d}, 'three': {N}}}",
        "({D} if {C} else {D})",
    ),
    "P": (
        "({T}, {N})", "{p}", "({P} if {C} else {P})",
    ),
    "A": (
        "{T}", "{N}", "{V}", "{C}", "{W}", "{O}", "{L}", "{K}", "{D}", "{P}", "{S}", "{Q}",
        "None", "({A}, {A})", "[{A}, {A}]", "{{'one': {A}}}", "{a}", "({A} if {C} else {A})",
        "({A} or {A})", "({A} and {A})",
    ),
    "G": (
        "torch.tanh", "(lambda r: r + {N})", "(lambda r: r * {S})", "({G} if {C} else {G})",
        "{g}", "functools.partial(halved, count={N})",
    ),
}  # fmt: skip
