"""The page of the viewer: a program's graph beside the source that it was made from. No torch.

    subject   what there is to show: programs, their tensors, a report
    encoding  a program as plain data for the page
    sources   the user's lines that the programs come from
    document  the page around all of it, and the file

The page's own code is in `viewer/`, at the root of the repository, and builds to `assets/`.
`stator.debug.view` finds what there is to show of functions and models.
"""
