"""The table of Stator's own ops in docs/format.md, made from the op table of the code."""

from stator.program.opset.row import OpRow, by_value, never, settled
from stator.program.opset.stator_ops import STATOR_ROWS

RAISES = {never: "no", settled: "no", by_value: "yes"}


def table() -> str:
    """One line for each op: how it is called, what it means, and whether it can raise."""
    lines = ["| op | meaning | may raise |", "|---|---|---|"]
    lines += [_line(row) for row in STATOR_ROWS.values()]
    return "\n".join(lines)


def _line(row: OpRow) -> str:
    blocks = "".join(f" {{{name}}}" for name in row.blocks)
    meaning = row.meaning if row.in_file else f"{row.meaning}; never in a file"
    raises = RAISES.get(row.raises, "for some arguments")
    cells = (f"`{row.name}{row.signature}{blocks}`", meaning, raises)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
