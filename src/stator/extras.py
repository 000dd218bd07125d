"""install_command(): how an extra of Stator is installed, for messages. Nothing here imports torch.

NOTE: why it is not always `pip install 'stator[onnx]'`. In a checkout that is not installed, pip
would take the package of that name from PyPI, which is another project.
"""

from __future__ import annotations

from pathlib import Path

from stator.native_builds import ROOT, is_checkout


def install_command(extra: str) -> str:
    """The command for a shell: `pip install -c constraints.txt -e '.[onnx]'`."""
    if not is_checkout():
        return f"pip install 'stator[{extra}]'"
    if Path.cwd() == ROOT:
        return f"pip install -c constraints.txt -e '.[{extra}]'"
    return f"pip install -c {ROOT / 'constraints.txt'} -e '{ROOT}[{extra}]'"
