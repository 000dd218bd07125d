"""verify: an object as a program, and saved, next to eager."""

import pytest

pytestmark = pytest.mark.slow  # together

WRONG = """\
import stator

calls = []

@stator.not_to_static
def count():
    calls.append(1)
    return len(calls)

def f(x):
    return x + count()
"""


def test_what_is_the_same_as_eager_is_found_so(shell):
    done = shell("verify", "net.py:sign", "--json")
    assert done.exit_code == 0
    data = done.json
    assert data["ok"] is True
    assert data["report"]["paths"] == {"covered": 2, "all": 2}  # both sides of its branch
    assert [one["name"] for one in data["report"]["backends"]] == ["program", "saved"]


def test_the_report_for_people_and_one_backend(shell):
    done = shell("verify", "net.py:sign", "--backend", "program", "--no-gradients", "--seed", "3")
    assert done.exit_code == 0
    assert done.out.startswith("sign: matches eager code\n")
    assert "saved" not in done.out


def test_the_budget_bounds_the_inputs(shell):
    runs = [
        shell("verify", "net.py:sign", "--backend", "program", "--json", *more).json["report"][
            "runs"
        ]
        for more in ((), ("--budget", "3"))
    ]
    assert runs[1] <= 3 < runs[0]


def test_arguments_by_name_alone_are_given(shell):
    args = ("-i", "x:f32[2,4]", "-i", "scale=2", "--mode", "eval", "--backend", "program")
    assert shell("verify", "net.py:Net", *args).exit_code == 0


def test_a_difference_is_found(shell, folder):
    (folder / "wrong.py").write_text(WRONG)
    done = shell("verify", "wrong.py:f", "-i", "x:f32[2]", "--backend", "program")
    assert done.exit_code == 1
    assert done.out.startswith("f: differs from eager code\n")
    assert shell("verify", "wrong.py:f", "-i", "x:f32[2]", "--json").json["ok"] is False


def test_what_is_refused_is_a_difference(shell):
    done = shell("verify", "net.py:refused", "-i", "x:f32[2]")
    assert done.exit_code == 1
    assert "[ST102] a call of `eval` cannot be converted" in done.out


def test_a_wrong_backend_is_refused(shell):
    done = shell("verify", "net.py:sign", "--backend", "nothing")
    assert done.exit_code == 3
    assert "[ST303] there is no backend 'nothing' to verify\n" in done.err
