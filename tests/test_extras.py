"""How an extra is installed: never by a name that PyPI gives to another project."""

from pathlib import Path

from stator import extras

ROOT = Path(__file__).parents[1]


def test_in_the_root_of_a_checkout_the_command_is_that_of_the_readme(monkeypatch):
    monkeypatch.chdir(ROOT)
    command = extras.install_command("onnx")
    assert command == "pip install -c constraints.txt -e '.[onnx]'"
    assert command in (ROOT / "docs" / "onnx.md").read_text()


def test_elsewhere_it_names_the_checkout(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert extras.install_command("cli") == (
        f"pip install -c {ROOT}/constraints.txt -e '{ROOT}[cli]'"
    )


def test_an_installed_package_names_itself(monkeypatch):
    monkeypatch.setattr(extras, "is_checkout", lambda: False)
    assert extras.install_command("cli") == "pip install 'stator[cli]'"
