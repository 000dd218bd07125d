"""trusted_libraries(): the libraries beside a saved model, loaded if they fit.

NOTE: why nothing here looks for a folder by itself. A library is machine code, and runs when it is
loaded. Only a caller who knows where the files come from can say that it may.
"""

from __future__ import annotations

import os

from stator.ahead.folder import MANIFEST, folder_of, target_in
from stator.errors import FormatError
from stator.extension import extension
from stator.logs import LOGGER
from stator.native.backend import NativeLibraries, load_libraries

NOT_BUILT = "the native runtime, which calls them, is not built"


def trusted_libraries(path: str | os.PathLike[str], digest: str) -> NativeLibraries | None:
    """The libraries of the model at `path`, whose text has this digest; None with one warning.

    It runs code of the folder: the caller has said that it is trusted.
    """
    module, folder = extension(), folder_of(path)
    problem = NOT_BUILT
    try:
        if module is not None:
            return load_libraries(module, os.fspath(folder), digest, target_in(folder))
    except FormatError as error:
        problem = error.problem
    LOGGER.warning("%s runs without its libraries: %s", os.fspath(path), problem)
    return None


def mention_libraries(path: str | os.PathLike[str]) -> None:
    """Say that there are libraries which are not used; nothing of the folder is read."""
    folder = folder_of(path)
    if (folder / MANIFEST).is_file():
        LOGGER.info("the libraries in %s are not used: they are loaded with trust_compiled=True, "
                    "which is for folders whose origin you know", folder)  # fmt: skip
