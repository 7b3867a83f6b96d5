# SPDX-License-Identifier: Apache-2.0
"""Writes the files that users ask for: whole or not at all, and checked before the work that fills them.

A link stays a link and its target is written; devices, pipes and what is under /dev or /proc are written directly.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from antiphon.errors import EXIT_FAILURE, EXIT_USAGE, AntiphonError

#: Files that a command reads, by their paths; what has no such name, or is None, is none of them.
Sources = Iterable[str | Path | None]

#: Somebody may hold the lock for hours, as `flock DIRECTORY antiphon …` does.
_LOCK_TRIES, _LOCK_PAUSE_S = 200, 0.01

ANOTHER = "name another file, or make room for this one"


def check(path: Path, *, overwrite: bool = True, sources: Sources = ()) -> None:
    """Raises the error that writing `path` would end with, as far as it can be known before there is anything to write.

    Without `overwrite` a file that is there is such an error; one of `sources`, which the command reads, always is.
    """
    try:
        target = replaced(path)
        refuse_directory(path)
        if target is None:
            if not os.access(path, os.W_OK):
                raise PermissionError(13, "Permission denied")
            return
        if target.exists():
            _refuse_source(path, sources)
        if target.exists() and not overwrite:
            raise AntiphonError(f"{path} is there already", hint="replace it with --overwrite, or name another file")
        if target.exists() and not os.access(target, os.W_OK):
            raise PermissionError(13, "it is write-protected")
        with tempfile.TemporaryFile(dir=target.parent):
            pass
    except (OSError, ValueError) as error:
        raise _refused(path, error) from None


def check_apart(written: Iterable[Path | None], read: Sources) -> None:
    """Raises an error for a file that is to be written and is also read, or is to be written twice."""
    sources, before = tuple(read), list[Path]()
    for path in filter(None, written):
        if replaced(path) is None:
            continue  # A device takes what several write.
        _refuse_source(path, sources)
        if any(_same(path, one) for one in before):
            raise AntiphonError(f"{path} is named for two outputs", hint="name another file for one of them")
        before.append(path)


def _refuse_source(path: Path, sources: Sources) -> None:
    if any(_same(path, Path(one)) for one in sources if one):
        raise AntiphonError(f"{path} is what the command reads", hint="name another file")


def _same(one: Path, other: Path) -> bool:
    """Returns whether both name the same file, by any path; it need not be there yet."""
    same = os.path.realpath(one) == os.path.realpath(other)
    return same or (one.exists() and other.exists() and one.samefile(other))


def refuse_directory(path: Path) -> None:
    """Raises an error for a directory where a file is to be named."""
    if path.is_dir():
        raise AntiphonError(f"{path} is a directory", hint="name a file in it")


def write(path: Path, content: bytes | str) -> None:
    """Writes the file in one step: it has its old content or the new one, whatever happens meanwhile."""
    data = content.encode(errors="surrogateescape") if isinstance(content, str) else content
    try:
        target = replaced(path)
        if target is None:
            with path.open("wb", buffering=0) as stream:
                _write_all(stream.fileno(), data)
        else:
            _replace(target, data)
    except (OSError, ValueError) as error:
        raise _refused(path, error) from None


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Keeps others out who lock the same file, between reading and replacing it. It is its directory's lock, since the
    file itself is replaced. Who cannot have it soon goes on without: files are replaced whole.
    """
    with contextlib.ExitStack() as held:
        with contextlib.suppress(OSError):
            folder = os.open((replaced(path) or path).absolute().parent, os.O_RDONLY)
            held.callback(os.close, folder)
            for _ in range(_LOCK_TRIES):
                with contextlib.suppress(BlockingIOError):
                    fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                time.sleep(_LOCK_PAUSE_S)
        yield


def replaced(path: Path) -> Path | None:
    """Returns the file to replace, with all links followed; None for what has to be written directly."""
    with contextlib.suppress(FileNotFoundError):
        if not stat.S_ISREG(path.stat().st_mode) and not path.is_dir():
            return None
    target = path.absolute()
    for _ in range(40):  # More links than this are a circle, as for the system.
        if target.parts[1:2] in (("dev",), ("proc",)):
            return None
        if not target.is_symlink():
            break
        target = target.parent / os.readlink(target)
    return target


def _replace(target: Path, data: bytes) -> None:
    mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else 0o666 & ~_umask()
    descriptor, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".new")
    try:
        try:
            _write_all(descriptor, data)
            os.fsync(descriptor)
            os.fchmod(descriptor, mode)
        finally:
            os.close(descriptor)
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise


def _write_all(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _refused(path: Path, error: OSError | ValueError) -> AntiphonError:
    reason = error.strerror if isinstance(error, OSError) else str(error)
    missing = isinstance(error, FileNotFoundError)
    hint = f"make the directory {path.absolute().parent} first" if missing else ANOTHER
    code = EXIT_USAGE if missing else EXIT_FAILURE
    return AntiphonError(f"cannot write {path}: {reason}", hint=hint, exit_code=code)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
