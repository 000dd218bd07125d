"""PROCESS_CALLS: functions that change the process or the file system, by what they change.

A capture would call them once, and no run of the program ever would.
"""

from __future__ import annotations

import atexit
import gc
import locale
import logging
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import numpy
import torch

FILES = "the file system"
PROCESS = "the process"
SETTINGS = "a setting of the whole process"
_CHANGES: tuple[tuple[ModuleType, str, str], ...] = (
    (torch, SETTINGS, "set_default_dtype set_default_device set_default_tensor_type "
     "use_deterministic_algorithms set_deterministic_debug_mode set_num_threads "
     "set_num_interop_threads set_float32_matmul_precision set_printoptions set_warn_always "
     "set_flush_denormal"),
    (numpy, SETTINGS, "seterr seterrcall setbufsize set_printoptions"),
    (sys, SETTINGS, "setrecursionlimit setswitchinterval settrace setprofile "
     "set_int_max_str_digits setdlopenflags"),
    (gc, SETTINGS, "enable disable set_threshold set_debug freeze unfreeze"),
    (locale, SETTINGS, "setlocale"),
    (logging, SETTINGS, "basicConfig disable captureWarnings addLevelName setLoggerClass"),
    (atexit, PROCESS, "register unregister"),
    (signal, PROCESS, "signal alarm setitimer raise_signal pthread_kill"),
    (subprocess, PROCESS, "Popen run call check_call check_output getoutput getstatusoutput"),
    (os, PROCESS, "abort _exit chdir fchdir fork forkpty kill killpg nice popen putenv system "
     "umask unsetenv execv execve posix_spawn spawnv"),
    (os, FILES, "chmod chown link makedirs mkdir mkfifo remove removedirs rename renames replace "
     "rmdir symlink truncate unlink utime write"),
    (shutil, FILES, "copy copy2 copyfile copyfileobj copymode copystat copytree move rmtree "
     "make_archive unpack_archive chown"),
)  # fmt: skip


def _calls() -> Iterator[tuple[Callable[..., Any], str]]:
    for module, what, names in _CHANGES:
        for name in names.split():
            if hasattr(module, name):  # some are not there on every system
                yield getattr(module, name), what


PROCESS_CALLS: dict[Callable[..., Any], str] = dict(_calls())
