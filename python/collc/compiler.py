"""Calls collc's compiler from Python, once for each graph: what it has made lies in a cache on disk, and appears there whole."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
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


class NoCompiler(CollcError):
    """collc is not installed, or does not start."""


class Refused(CollcError):
    """The compiler does not take the graph; its own words."""


def default_cache() -> Path:
    """Where partitions are kept: `regions` in COLLC_CACHE_DIR, or in ~/.cache/collc."""
    root = os.environ.get("COLLC_CACHE_DIR")
    return (Path(root) if root else Path.home() / ".cache" / "collc") / "regions"


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


class Compiler:
    """`collc lower` with a cache."""

    def __init__(self, command: Sequence[str] | None = None, cache: str | os.PathLike[str] | None = None, timeout: float = 600.0) -> None:
        """`command`: default what `find` finds, when it is needed. `timeout`: seconds that one graph may take."""
        self._command = list(command) if command is not None else None
        self.cache = Path(cache) if cache is not None else default_cache()
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

    def folder_of(self, graph: Mapping[str, Any], *, ranks: int, arch: str, machine: str | None) -> Path:
        """Where the partition of a graph lies, or will lie. Raises NoCompiler."""
        key = "\n".join([digest(graph), str(ranks), arch, machine or "", self.identity])
        return self.cache / hashlib.sha256(key.encode()).hexdigest()[:32]

    def lower(
        self,
        graph: Mapping[str, Any],
        *,
        ranks: int,
        arch: str,
        machine: str | None = None,
        measured: Mapping[str, float] | None = None,
    ) -> Path:
        """
        The folder with `partition.json` and the programs' cubins; compiled when it is not there yet.

        `measured`: seconds by node, of what stays with the caller; a partition that is in the cache keeps those that it was made with.
        Raises NoCompiler, and Refused with the compiler's message.
        """
        folder = self.folder_of(graph, ranks=ranks, arch=arch, machine=machine)
        if (folder / "partition.json").is_file():
            with contextlib.suppress(OSError):
                os.utime(folder)  # the order in which folders go
            return folder
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
            for name in ("graph.json", "measured.json"):
                os.replace(made / name, out / name)
            try:
                os.rename(out, folder)
            except OSError:
                # Another process was first; what it made of the same graph serves.
                if not (folder / "partition.json").is_file():
                    raise
            return folder
        finally:
            shutil.rmtree(made, ignore_errors=True)
            self._trim()

    def _trim(self) -> None:
        """Removes folders that were not used for the longest time, until the rest keeps to the cap; none that somebody may be reading now."""
        folders = []
        for each in self.cache.iterdir():
            with contextlib.suppress(OSError):  # another process was first
                folders.append((each.stat().st_mtime, sum(file.stat().st_size for file in each.rglob("*")), each))
        total = sum(size for _, size, _ in folders)
        for used, size, each in sorted(folders):
            if total <= most_bytes() or time.time() - used < _READ_WITHIN:
                break
            shutil.rmtree(each, ignore_errors=True)
            total -= size
