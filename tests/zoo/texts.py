"""Strings whose value only a run knows: their methods, slices, characters, numbers and keys."""

from __future__ import annotations

import torch

from tests.zoo.programs import f, i, program

NUMBERS = ((i(7),), (i(-42),), (i(0),), (i(123456),), (i(101),))
LETTERS = (
    (i(97, 98, 97, 32, 98),), (i([65]),), (i(32, 9, 0x416, 10),), (i(0xDF, 0x1F600, 97),),
    (i(0x3A3, 0x41, 0x3A3),), (i(45, 45, 97, 45, 45),), (i(0x661, 0x662),), (i(49, 0xB2),),
)  # fmt: skip


@program(*NUMBERS)
def padded_texts(n):
    """`zfill`, `rjust`, `ljust` and `center`, by known and by captured widths."""
    text, width = str(int(n)), abs(int(n)) % 9
    known = text.zfill(5), text.rjust(6), text.ljust(6, "*"), text.center(7, "é"), text.center(6)
    return (
        known,
        text.zfill(width),
        text.rjust(width, "0"),
        text.center(width),
        f"[{text:>{width}}]",
    )


@program(*LETTERS, dynamic=({0},))
def slices_of_texts(x):
    """`text[a:b]`, `text[a:b:c]` and `len`, in code points."""
    text = "".join([chr(v) for v in x.tolist()])
    n = len(text)
    bounds = text[1:], text[:-1], text[::-1], text[n // 2 :], text[-2:9], text[n:-n:-2]
    return text, n, bounds, "abcdef"[n:], "x" * n + text * 2


@program(*LETTERS, may_raise=True, dynamic=({0},))
def characters_by_position(x):
    """`text[i]` raises IndexError as eager does; `ord` of one character."""
    text = "".join([chr(v) for v in x.tolist()])
    return text[0], text[-1], ord(text[0]), text[len(text) // 2], text[2]


@program(*LETTERS, (i([]),), dynamic=({0},))
def loop_over_characters(x):
    """A loop over a string, with `enumerate`, `zip`, `reversed`, and a list of it."""
    text = "".join([chr(v) for v in x.tolist()])
    total, seen = 0, ""
    for k, c in enumerate(text):
        if c == " ":
            continue
        total += (k + 1) * ord(c)
        seen = c + seen
    same = [a == b for a, b in zip(text, reversed(text))]
    return total, seen, same, list(text), sorted(text)


@program(*LETTERS, (i([]),), dynamic=({0},))
def parts_of_texts(x):
    """`in`, `find`, `rfind`, `count`, `startswith` and `endswith`."""
    text = "".join([chr(v) for v in x.tolist()])
    part = text[1:2]
    found = [text.find(part), text.rfind("b"), text.find("b", 2), text.find("", 9)]
    ends = text.startswith("a"), text.endswith(part), text.startswith(("b", "-", part), 1)
    others = text.endswith("b", 0, -1), text.count("-"), text.count(""), text.count(part, 1)
    return "a" in text, part in text, text in "aba b", "" in text, found, ends, others


@program(*LETTERS, (i([]),), dynamic=({0},))
def kinds_of_characters(x):
    """`isdigit` and its like, `upper` and `lower`: of all of Unicode."""
    text = "".join([chr(v) for v in x.tolist()])
    kinds = text.isdigit(), text.isdecimal(), text.isnumeric(), text.isalpha(), text.isalnum()
    others = text.isspace(), text.isupper(), text.islower(), text.isascii(), text.isprintable()
    return kinds, others, text.upper(), text.lower(), [c.isdigit() for c in text], repr(text)


@program(*LETTERS, (i([]),), (i(32, 32),), dynamic=({0},))
def texts_taken_apart(x):
    """`strip`, `split`, `partition`, `replace` and `removeprefix`."""
    text = "".join([chr(v) for v in x.tolist()])
    stripped = text.strip(), text.lstrip("a"), text.rstrip("-b"), text.strip("-")
    words = text.split(), text.split("-"), text.split(None, 1), text.split("a", maxsplit=1)
    replaced = text.replace("a", "xy"), text.replace("-", "", 3), text.replace("", ".")
    cut = text.removeprefix("a"), text.removesuffix("b"), text.partition(" "), text.rpartition("-")
    return stripped, words, replaced, cut, "-".join(text.split()), ",".join(text)


@program(*NUMBERS)
def fields_of_a_record(n):
    """A record that is written, split and read again."""
    record = f"{int(n)};{float(n) / 4};a{int(n) % 3}"
    number, fraction, name = record.split(";")
    return int(number) + 1, float(fraction) * 2, name, name < "a1", record[:1] <= "0"


@program(
    (i(49, 50),), (i(32, 45, 55, 10),), (i(49, 95, 48),), (i([97]),), (i(49, 95),), (i([]),),
    (i(0x663, 0x664),), (i(39, 49),), (i(43, 32, 49),), (i(28, 49),), (i(*[57] * 18),),
    (i(0x2003, 53),), (i(49, 0),), may_raise=True, dynamic=({0},),
)  # fmt: skip
def numbers_from_texts(x):
    """`int(text)`: spaces, signs, underscores and digits of any script, or Python's ValueError."""
    return int("".join([chr(v) for v in x.tolist()]))


@program(
    (i(49, 46, 53),), (i(32, 45, 46, 53, 101, 51, 9),), (i(105, 110, 102),), (i(45, 78, 97, 110),),
    (i(49, 95, 48, 46, 95),), (i([46]),), (i(49, 101),), (i(49, 101, 57, 57, 57),), (i([]),),
    (i(49, 101, 45, 57, 57, 57),), (i(0x661, 46, 0x662),), (i(48, 120, 49),),
    (i(49, 95, 48, 95, 50),), (i(73, 78, 70, 73, 78, 105, 116, 121),), (i(34, 39),), may_raise=True,
    dynamic=({0},),
)  # fmt: skip
def fractions_from_texts(x):
    """`float(text)`, or Python's ValueError."""
    return float("".join([chr(v) for v in x.tolist()]))


@program(*NUMBERS, (i(5),), may_raise=True)
def numbers_in_a_base(n):
    """`int(text, base)` reads what `bin`, `hex` and a loop wrote."""
    n = int(n)
    text = bin(n)
    back = int(text, 2), int(hex(n), 16), int(text, 0), int(f"{n % 36}", base=36)
    return back, sum([int(c) for c in str(abs(n))]), int(str(n % 10) + "z", 8 + n % 29)


@program(*LETTERS, dynamic=({0},))
def texts_as_keys(x):
    """Words are counted, and looked up, in a dict whose keys are strings of the run."""
    counts, first = {}, {}
    for v in x.tolist():
        key = f"k{v % 3}".upper()
        counts[key] = counts.get(key, 0) + 1
        first.setdefault(chr(v).lower(), v)
    return counts, [*counts], sorted(first), "K1" in counts


@program((i(0), f(1.0, 2.0)), (i(1), f(1.0, 2.0)), (i(2), f(3.0, 4.0)), may_raise=True)
class LayersByName(torch.nn.Module):
    """A key of a ModuleDict is made from a number."""

    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleDict(
            {"00": torch.nn.Linear(2, 2), "01": torch.nn.Linear(2, 2)}
        )

    def forward(self, n, x):
        return self.layers[str(int(n)).zfill(2)](x)


@program(*NUMBERS)
def palindrome_of_digits(n):
    """A loop that is left by what a string holds."""
    n, steps = abs(int(n)), 0
    while str(n) != str(n)[::-1] and steps < 8:
        n, steps = n + int(str(n)[::-1]), steps + 1
    return n, steps


@program(*LETTERS, may_raise=True, dynamic=({0},))
def errors_of_texts(x):
    """`index`, `ord`, an empty separator and a fill of two characters raise as eager does."""
    text = "".join([chr(v) for v in x.tolist()])
    tried = []
    for k in range(4):
        try:
            if k == 0:
                tried.append(str(text.index("b")))
            elif k == 1:
                tried.append(str(ord(text)))
            elif k == 2:
                tried.append(text.split(text[9:])[0])
            else:
                tried.append("ab".rjust(8, text[:2]))
        except (ValueError, TypeError) as error:
            tried.append(f"{type(error).__name__}: {error}")
    return tried


@program(*LETTERS, dynamic=({0},))
def caesar(x):
    """Each letter is moved by three; a run-length code of the result."""
    text = "".join([chr(v) for v in x.tolist()])
    moved = ""
    for c in text:
        if "a" <= c <= "z":
            moved += chr((ord(c) - 97 + 3) % 26 + 97)
        else:
            moved += c
    coded, k = "", 0
    while k < len(moved):
        end = k
        while end < len(moved) and moved[end] == moved[k]:
            end += 1
        coded += f"{moved[k]}{end - k}"
        k = end
    return moved, coded


@program(*NUMBERS)
def texts_that_grow(n):
    """Known pieces are put together as often as the data says."""
    n = abs(int(n)) % 1000
    bits, roman, left = "", "", n
    for k in range(n % 7):
        bits = ("1" if n >> k & 1 else "0") + bits
    for value, letters in ((100, "C"), (9, "IX"), (1, "I")):
        while left >= value:
            roman, left = roman + letters, left - value
    return bits, roman, "-" * (n % 4)


@program(*NUMBERS)
def digits_of_a_base(n):
    """A digit is chosen from a known string, and `or` gives what is not empty."""
    digits, rest, text = "0123456789abcdef", abs(int(n)), ""
    while rest:
        text = digits[rest % 16] + text
        rest //= 16
    return text or "0", not text, digits[rest : rest + 2], digits.index(text[:1] or "f")


@program(*NUMBERS, may_raise=True)
def texts_unpacked(n):
    """A string, and what `split` gives, assigned to several names; methods taken from `str`."""
    text = f"{int(n)}:x"
    name, rest = text.split(":")
    first, *others = text
    a, b, c = text
    return name, rest, first, others, (a, b, c), list(map(str.upper, [text, "y"])), str.strip(rest)


@program((i(1),), (i(2),))
def numbers_joined_as_texts(n):
    """`join` of what is no string raises TypeError, of a known and of any number of items."""
    tried, many = [], []
    for k in range(int(n)):
        many.append(k)
    for parts in ([int(n)], many):
        try:
            tried.append(",".join(parts))
        except TypeError as error:
            tried.append(str(error))
    return tried


class Failure(ValueError):
    """An exception whose text asks that of its base class."""

    def __str__(self):
        return f"failed: {super().__str__()}"


@program((f(0.5, 1.0),), (f(-0.5, 3.0),), (f(4.0, 4.0),))
def texts_by_the_name_of_the_method(x):
    """`__repr__`, `__str__` and `__format__` called as methods, and through `super()`."""
    level = torch.distributions.Normal(x.sum(), 1.0)
    bounds = torch.distributions.Uniform(x, x + 1).support
    texts = [level.__repr__(), bounds.__str__(), x.__repr__(), [x.sum().item()].__repr__()]
    texts += [x.sum().__format__(".2f"), int(x[1]).__str__(), (x.sum(), 1).__str__()]
    try:
        if x.sum() > 0:
            raise Failure(x.sum().item())
    except Failure as error:
        texts.append(error.__str__())
    return texts, str(Failure(int(x[1]), "b")), str(Failure()), Failure(x.max().item()).__str__()
