"""Calls collc's compiler from Python, once for each graph: what it has made lies in a cache on disk, and appears there whole."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import secrets
import shlex
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any, Mapping, Sequence

from .errors import CollcError
from .fx import digest


#: Seconds after which nobody reads a folder that was made or asked for.
_READ_WITHIN = 3600.0
#: What lies in the cache: partitions by their keys, and what is being made or removed.
_OURS = re.compile(r"[0-9a-f]{32}(\.\w+)?")
#: Names and sizes of a partition's files; a folder that has not all of them is none.
_FILES = "files.json"


class NoCompiler(CollcError):
    """collc is not installed, or does not start."""


class Refused(CollcError):
    """The compiler does not take the graph; its own words."""


def default_cache() -> Path:
    """COLLC_CACHE_DIR, $XDG_CACHE_HOME/collc or ~/.cache/collc, as the compiler has it."""
    root = os.environ.get("COLLC_CACHE_DIR")
    if root:
        return Path(root)
    shared = os.environ.get("XDG_CACHE_HOME")
    return (Path(shared) if shared else Path.home() / ".cache") / "collc"


def _tuned() -> str:
    """Digest of what `collc tune` has measured here, by which the compiler judges; empty where nothing was."""
    try:
        return hashlib.sha256((default_cache() / "tune.json").read_bytes()).hexdigest()
    except OSError:
        return ""


def most_bytes() -> int:
    """Cap of all partitions: COLLC_CACHE_MAX_MB in MiB, as of the kernel cache; default 1 GiB."""
    given = os.environ.get("COLLC_CACHE_MAX_MB", "")
    return (int(given) if given.isdecimal() else 1024) << 20


def find() -> list[str]:
    """
    The compiler's command: COLLC_COMMAND, else `collc` on the PATH, else the one of the repository that this package lies in.

    Raises NoCompiler.
    """
    given = os.environ.get("COLLC_COMMAND")
    if given:
        return shlex.split(given)
    installed = shutil.which("collc")
    if installed is not None:
        return [installed]
    main = Path(__file__).resolve().parents[2] / "dist" / "src" / "cli" / "main.js"
    node = shutil.which("node")
    if main.is_file() and node is not None:
        return [node, str(main)]
    raise NoCompiler("collc is neither on the PATH nor beside this package: run npm link in a checkout that is built, or set COLLC_COMMAND to its command")


def _files_of(command: Path) -> list[Path]:
    """What the compiler is made of: the command, and beside it, where that is collc's own, its code and its library."""
    root = command.parents[3] if command.name == "main.js" and len(command.parents) > 3 else command.parent
    own = [*root.glob("dist/src/**/*.js"), *root.glob("kernels/**/*.coll")] if (root / "kernels").is_dir() else []
    return [command, *sorted(own)]


def is_whole(folder: Path) -> bool:
    """Whether a partition lies there with all of its files."""
    try:
        files = json.loads((folder / _FILES).read_bytes())
        return "partition.json" in files and all((folder / name).stat().st_size == size for name, size in files.items())
    except (OSError, TypeError, ValueError, AttributeError):
        return False


def _remove(folder: Path) -> None:
    """Removes a folder of the cache, which at once is no longer there by its name; nothing where another process was first."""
    gone = folder.with_name(f"{folder.name[:32]}.{secrets.token_hex(8)}")
    with contextlib.suppress(OSError):
        os.rename(folder, gone)
        shutil.rmtree(gone, ignore_errors=True)


class Compiler:
    """`collc lower` with a cache."""

    def __init__(self, command: Sequence[str] | None = None, cache: str | os.PathLike[str] | None = None, timeout: float = 600.0) -> None:
        """
        `command`: default what `find` finds, when it is needed. `cache`: partitions are in `regions` below it, default `default_cache`.
        `timeout`: seconds that one graph may take.
        """
        self._command = list(command) if command is not None else None
        self.cache = (Path(cache) if cache is not None else default_cache()) / "regions"
        self.timeout = timeout
        self._identity: str | None = None

    @property
    def command(self) -> list[str]:
        if self._command is None:
            self._command = find()
        return self._command

    @property
    def identity(self) -> str:
        """Of the compiler: what it says its version is, and when its files were made."""
        if self._identity is None:
            try:
                said = subprocess.run([*self.command, "--version"], capture_output=True, text=True, timeout=60, check=True).stdout.strip()
            except (OSError, subprocess.SubprocessError) as error:
                raise NoCompiler(f"{shlex.join(self.command)} does not start: {error}") from None
            files = [each for word in self.command if os.path.isfile(word) for each in _files_of(Path(word).resolve())]
            made = hashlib.sha256("\n".join(f"{each}:{each.stat().st_size}:{each.stat().st_mtime_ns}" for each in files).encode())
            self._identity = f"{said} {made.hexdigest()}"
        return self._identity

    def folder_of(self, graph: Mapping[str, Any], *, ranks: int, arch: str, machine: str | None, gpu: str = "") -> Path:
        """Where the partition of a graph lies, or will lie, for the GPUs of that name, which the compiler finds itself. Raises NoCompiler."""
        key = "\n".join([digest(graph), str(ranks), arch, machine or gpu, _tuned(), self.identity])
        return self.cache / hashlib.sha256(key.encode()).hexdigest()[:32]

    def lower(
        self,
        graph: Mapping[str, Any],
        *,
        ranks: int,
        arch: str,
        machine: str | None = None,
        gpu: str = "",
        measured: Mapping[str, float] | None = None,
    ) -> Path:
        """
        The folder with `partition.json` and the programs' cubins; compiled when it is not there yet.

        `measured`: seconds by node, of what stays with the caller; a partition that is in the cache keeps those that it was made with.
        Raises NoCompiler, Refused with the compiler's message, and CollcError where the cache cannot be written.
        """
        folder = self.folder_of(graph, ranks=ranks, arch=arch, machine=machine, gpu=gpu)
        try:
            if is_whole(folder):
                with contextlib.suppress(OSError):
                    os.utime(folder)  # the order in which folders go
            else:
                self._make(folder, graph, ranks, arch, machine, measured)
        except OSError as error:
            raise CollcError(f"{self.cache} cannot be written: {error}; name another folder with COLLC_CACHE_DIR, or as enable's cache") from None
        return folder

    def _make(
        self, folder: Path, graph: Mapping[str, Any], ranks: int, arch: str, machine: str | None, measured: Mapping[str, float] | None
    ) -> None:
        self.cache.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix=f"{folder.name}.", dir=self.cache))
        try:
            (made / "graph.json").write_text(json.dumps(graph), encoding="utf-8")
            (made / "measured.json").write_text(json.dumps(measured or {}), encoding="utf-8")
            out = made / "out"
            words = ["lower", str(made / "graph.json"), "--ranks", str(ranks), "--caller", "kernels", "--arch", arch, "--build", str(out)]
            if machine is not None:
                words += ["--machine", machine]
            if measured:
                words += ["--measured", str(made / "measured.json")]
            try:
                ran = subprocess.run([*self.command, *words], capture_output=True, text=True, timeout=self.timeout)
            except subprocess.TimeoutExpired:
                raise Refused(f"collc lower took longer than {self.timeout:g} s") from None
            except OSError as error:
                raise NoCompiler(f"{shlex.join(self.command)} does not start: {error}") from None
            if ran.returncode != 0:
                raise Refused(f"collc lower ends with {ran.returncode}: {ran.stderr.strip()[-2000:]}")
            if not (out / "partition.json").is_file():
                raise Refused(f"collc lower ends well and writes no partition: is {shlex.join(self.command)} collc?")
            for name in ("graph.json", "measured.json"):
                os.replace(made / name, out / name)
            files = {str(file.relative_to(out)): file.stat().st_size for file in out.rglob("*") if file.is_file()}
            (out / _FILES).write_text(json.dumps(files), encoding="utf-8")
            self._put(out, folder)
        finally:
            shutil.rmtree(made, ignore_errors=True)
            self._trim()

    def _put(self, out: Path, folder: Path) -> None:
        for again in (True, False):
            try:
                return os.rename(out, folder)
            except OSError:
                # Another process was first; what it made of the same graph serves. What is not whole, nobody can use.
                if is_whole(folder):
                    return
                if not again:
                    raise
                _remove(folder)

    def _trim(self) -> None:
        """Removes folders that were not used for the longest time, until the rest keeps to the cap; none that somebody may be reading now."""
        folders = []
        with contextlib.suppress(OSError):
            for each in self.cache.iterdir():
                if _OURS.fullmatch(each.name) is None or each.is_symlink() or not each.is_dir():
                    continue
                with contextlib.suppress(OSError):  # another process was first
                    folders.append((each.stat().st_mtime, sum(file.stat().st_size for file in each.rglob("*")), each))
        total = sum(size for _, size, _ in folders)
        for used, size, each in sorted(folders):
            if total <= most_bytes() or time.time() - used < _READ_WITHIN:
                break
            _remove(each)
            total -= size
