"""bench: an object eagerly and as a program."""

import pytest

pytestmark = pytest.mark.slow  # together

QUICK = ("--rounds", "2", "--seconds", "0")


def test_eager_and_the_program_are_timed_and_agree(shell):
    data = shell("bench", "net.py:Net", "-i", "x:f32[2,4]", *QUICK, "--json").json
    eager, program = data["contenders"]
    assert (eager["name"], program["name"]) == ("eager", "program")
    assert eager["ratio"] == 1.0
    assert program["ratio"] == pytest.approx(program["median"] / eager["median"])
    assert program["first_call"] > program["median"] > 0
    assert [eager["agrees"], program["agrees"]] == [True, True]


def test_the_table_for_people(shell):
    done = shell("bench", "net.py:Net", "-i", "x:f32[2,4]", *QUICK, "--backward", "--mode", "train")
    assert done.exit_code == 0
    head, eager, program, said = done.out.splitlines()
    assert head.split("  ")[-1] == "of eager's"
    assert (eager.split()[0], eager.split()[-1]) == ("eager", "1.00")
    assert program.startswith("program ")
    assert said.startswith("2 rounds, alternating; ")


def test_a_saved_model_is_timed_alone(shell, saved):
    data = shell("bench", saved, "-i", "x:f32[2,4]", *QUICK, "--json").json
    assert [one["name"] for one in data["contenders"]] == ["saved"]
    assert shell("bench", saved, "-i", "x:f32[2,4]", "--compile").exit_code == 2


def test_each_contender_has_its_own_module_and_inputs(shell, folder):
    (folder / "state.py").write_text(
        "import torch\n"
        "class Counter(torch.nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.register_buffer('count', torch.zeros(()))\n"
        "    def forward(self, x):\n"
        "        self.count += 1\n"
        "        x.add_(self.count)\n"
        "        return x * 1\n"
    )
    done = shell("bench", "state.py:Counter", "-i", "x:f32[2]", *QUICK, "--json")
    assert all(one["agrees"] for one in done.json["contenders"])


def test_results_that_differ_are_found(shell, folder):
    (folder / "chance.py").write_text(
        "import stator, torch\n"
        "calls = []\n"
        "@stator.not_to_static\n"
        "def count():\n"
        "    calls.append(1)\n"
        "    return len(calls)\n"
        "def f(x): return x + count()\n"
    )
    done = shell("bench", "chance.py:f", "-i", "x:f32[2]", *QUICK)
    assert done.exit_code == 1
    assert done.out.endswith("program gives another result than eager\n")


def test_what_the_function_raises_is_the_users(shell):
    done = shell("bench", "net.py:crash", "-i", "x:f32[2]", *QUICK)
    assert done.exit_code == 4
    assert "Error: eager could not be run\n" in done.err
