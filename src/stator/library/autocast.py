"""Autocast inside a program."""

from __future__ import annotations

import torch

from stator.state.session import Session
from stator.values.annotations import Staged


class FollowedAutocast(torch.autocast):
    """Autocast; at its end torch forgets the weights that it has cast, and so does the program."""

    def __init__(self, session: Session, *args: Staged, **kwargs: Staged) -> None:
        super().__init__(*args, **kwargs)
        self.session = session

    def __exit__(self, *error: object) -> Staged:
        result = super().__exit__(*error)
        self.session.recorder.follow_modes()
        return result
