"""The viewer: a program as one HTML page, its graph beside the source that it was made from.

    subject   what there is to show: programs, their tensors, a report
    encoding  a program as plain data for the page
    sources   the user's lines that the programs come from
    weights   the table of tensors, and their sizes
    document  the page around all of it, and the file

The page's own code is in `viewer/`, at the root of the repository, and builds to `assets/`.
"""

from stator.debug.view.document import page, view

__all__ = ["page", "view"]
