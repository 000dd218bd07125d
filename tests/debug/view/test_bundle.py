"""The bundle in the package is what viewer/ builds to."""

import hashlib
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
VIEWER = ROOT / "viewer"
ASSETS = ROOT / "src" / "stator" / "page" / "assets"
NEEDED = "needs node, and viewer/node_modules, which scripts/browser brings"
AGAIN = "build it again: cd viewer && npm ci && npm run build"


def test_the_bundle_was_built_from_these_sources():
    names = [f"src/{file.name}" for file in (VIEWER / "src").iterdir()]
    digest = hashlib.sha256()
    for name in sorted([*names, "build.mjs", "package-lock.json"]):
        digest.update(name.encode() + b"\0" + (VIEWER / name).read_bytes() + b"\0")
    (found,) = re.findall(r"sha256 (\w+)", (ASSETS / "viewer.js").read_text().partition("\n")[0])
    assert found == digest.hexdigest(), AGAIN


@pytest.mark.slow
def test_building_gives_the_bundle_byte_for_byte(tmp_path):
    node = shutil.which("node")
    if node is None or not (VIEWER / "node_modules").is_dir():
        pytest.skip(NEEDED)
    subprocess.run([node, "build.mjs", str(tmp_path)], cwd=VIEWER, check=True)
    made = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    assert made == {file.name: file.read_bytes() for file in ASSETS.iterdir()}, AGAIN


@pytest.mark.slow
def test_the_sources_pass_their_type_checker():
    compiler = VIEWER / "node_modules" / ".bin" / "tsc"
    if shutil.which("node") is None or not compiler.exists():
        pytest.skip(NEEDED)
    found = subprocess.run(
        [str(compiler), "--noEmit"], cwd=VIEWER, capture_output=True, text=True, check=False
    )
    assert (found.returncode, found.stdout) == (0, "")


def test_what_is_bundled_comes_with_its_licence():
    text = (ASSETS / "THIRD_PARTY.txt").read_text()
    names = re.findall(r'^import .* from "(@[^"]+)"', _sources(), re.MULTILINE)
    assert set(names) == {"@dagrejs/dagre"}
    for name in ("@dagrejs/dagre", "@dagrejs/graphlib"):
        assert re.search(rf"^{name} \d", text, re.MULTILINE)
    assert text.count("Permission is hereby granted") == 2


def test_the_lock_file_names_no_registry():
    assert "://" not in (VIEWER / "package-lock.json").read_text()


def _sources():
    return "\n".join(file.read_text() for file in sorted((VIEWER / "src").glob("*.ts")))
