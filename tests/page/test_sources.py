"""Files: the lines that programs come from, and no others."""

import linecache

from stator.location import Location
from stator.page.sources import FileTable

TEXT = """\
import torch

SECRET = "not of the program"


@decorated
def first(x):
    return x + 1


class Net:
    def forward(self, x):
        y = x * 2
        return y

    def other(self):
        return SECRET


total = 1
"""


def data_of(tmp_path, *lines, text=TEXT):
    file = tmp_path / "model.py"
    file.write_text(text)
    linecache.checkcache(str(file))
    files = FileTable(at_hand=True)
    for line in lines:
        files.place(Location(str(file), line, 4, "forward"))
    (data,) = files.data()
    return data


def shown(data):
    return [line for run in data["runs"] for line in run["lines"]]


def test_whole_functions_are_shown_with_their_decorators(tmp_path):
    data = data_of(tmp_path, 8, 13)
    assert [run["first"] for run in data["runs"]] == [6, 12]
    assert shown(data) == TEXT.splitlines()[5:8] + TEXT.splitlines()[11:14]
    assert data["name"] == "model.py"


def test_what_no_op_comes_from_is_not_on_the_page(tmp_path):
    assert not [line for line in shown(data_of(tmp_path, 8, 13)) if "SECRET" in line]


def test_a_line_outside_of_functions_is_shown_with_its_neighbours(tmp_path):
    (run,) = data_of(tmp_path, 20)["runs"]
    assert (run["first"], run["lines"][-1]) == (18, "total = 1")


def test_text_that_does_not_parse_is_shown_around_the_place(tmp_path):
    (run,) = data_of(tmp_path, 3, text="%magic\na\nb\nc\nd\ne\n")["runs"]
    assert (run["first"], run["lines"]) == (1, ["%magic", "a", "b", "c", "d"])


def test_a_line_that_is_not_in_the_file_is_not_shown(tmp_path):
    assert data_of(tmp_path, 400)["runs"] == []


def test_a_file_that_is_gone_has_no_lines(tmp_path):
    files = FileTable(at_hand=True)
    assert files.place(Location(str(tmp_path / "gone.py"), 3, 0, "f")) == [0, 3, 0, "f"]
    assert files.data()[0]["runs"] == []


def test_a_bare_name_is_not_looked_for_in_the_working_folder(tmp_path, monkeypatch):
    (tmp_path / "model.py").write_text(TEXT)
    monkeypatch.chdir(tmp_path)
    for at_hand in (True, False):
        files = FileTable(at_hand=at_hand)
        files.place(Location("model.py", 8, 4, "first"))
        assert files.data()[0]["runs"] == []


def test_a_cell_of_a_notebook_is_found_where_linecache_keeps_it(monkeypatch):
    lines = ["def f(x):\n", "    return x\n"]
    monkeypatch.setitem(linecache.cache, "<cell-1>", (20, None, lines, "<cell-1>"))
    files = FileTable(at_hand=True)
    files.place(Location("<cell-1>", 2, 4, "f"))
    assert files.data()[0]["runs"] == [{"first": 1, "lines": ["def f(x):", "    return x"]}]
