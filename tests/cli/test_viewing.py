"""view: a page with a program's graph beside its source."""

import pytest


def test_the_page_of_an_object(shell, folder):
    done = shell("view", "net.py:sign", "-i", "x:f32[None,2]", "-o", "sign.html")
    assert (done.exit_code, done.out) == (0, "sign.html\n")
    page = (folder / "sign.html").read_text()
    assert page.lstrip().lower().startswith("<!doctype html>")
    assert "aten::is_nonzero" in page
    assert "if x.sum()" in page  # the source


def test_the_page_of_a_saved_model_as_json(shell, saved, folder):
    data = shell("view", saved, "-o", "net.html", "--json").json
    assert data == {"schema": 1, "command": "view", "target": saved, "page": "net.html"}
    assert "step.weight" in (folder / "net.html").read_text()


def test_without_a_name_the_page_gets_one(shell, folder):
    data = shell("view", "net.py:sign", "--json").json
    assert (folder / data["page"]).is_file()


def test_without_a_model_the_page_is_empty(shell, folder):
    done = shell("view")
    assert (done.exit_code, done.out) == (0, "stator.view.html\n")
    assert '"programs":[]' in (folder / "stator.view.html").read_text()
    assert shell("view", "--json", "-o", "empty.html").json["target"] is None
    done = shell("view", "-i", "f32[2]")
    assert (done.exit_code, done.out) == (2, "")


def test_the_page_is_opened_if_asked_for(shell, folder, monkeypatch):
    opened = []
    monkeypatch.setattr("webbrowser.open", lambda url: opened.append(url) or True)
    done = shell("view", "net.py:sign", "-i", "x:f32[2]", "-o", "sign.html", "--open")
    assert (done.exit_code, done.out) == (0, "sign.html\n")
    assert opened == [(folder / "sign.html").resolve().as_uri()]
    monkeypatch.setattr("webbrowser.open", lambda url: False)
    done = shell("view", "net.py:sign", "-i", "x:f32[2]", "-o", "sign.html", "--open")
    assert done.exit_code == 2
    assert "there is no browser to show sign.html in" in done.err


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (["net.py:refused", "-i", "f32[2]"], 3, "a call of `eval` cannot be converted"),
        (["nowhere"], 3, "[ST400] nowhere.stator does not exist"),
        (["nowhere", "-i", "f32[2]"], 2, "a saved model has its program"),
        (["net.py:sign", "-o", "/proc/no/page.html"], 2, "No such file or directory"),
    ],
)
def test_what_cannot_be_viewed_ends_with_its_code(shell, args, code, said):
    done = shell("view", *args)
    assert (done.exit_code, done.out) == (code, "")
    assert said in done.err
