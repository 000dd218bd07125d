"""The viewer: a program as one HTML page, its graph beside the source that it was made from.

    subject   what there is to show of a function, a program or a model
    weights   its tensors
    document  the page, and the file

`stator.page` makes the page; of a saved model it does so without torch.
"""

from stator.debug.view.document import page, view

__all__ = ["page", "view"]
