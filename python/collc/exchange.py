"""What ranks of one machine tell each other while they set up: bytes and file descriptors, over UNIX sockets."""

from __future__ import annotations

import os
import socket
import struct
import time
from types import TracebackType
from typing import TYPE_CHECKING

from .errors import CollcError

if TYPE_CHECKING:
    from .gpu import SymmetricMemory
    from .launch import LoadedProgram


class Exchange:
    """
    Connects the ranks, whose sockets lie in a folder that nobody else may write to. Use it in a `with` statement.

    The protocol is that of examples/c/ranks.c: rank r connects to those before it and sends its number; gathered bytes have the same
    length on every rank; a descriptor travels beside one byte.
    """

    def __init__(self, rank: int, world: int, folder: str | os.PathLike[str], *, timeout: float = 60.0) -> None:
        """Raises CollcError when the others do not come within `timeout` seconds."""
        if not 0 <= rank < world:
            raise ValueError(f"rank {rank} is none of {world}")
        self.rank = rank
        self.world = world
        self._peers: dict[int, socket.socket] = {}
        folder = os.fspath(folder)
        if os.stat(folder).st_mode & 0o022:
            raise CollcError(f"{folder} can be written to by others: chmod go-w it, or take another folder")
        path = os.path.join(folder, str(rank))
        deadline = time.monotonic() + timeout
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            listener.bind(path)
            listener.listen(world)
            for peer in range(rank):
                self._peers[peer] = self._connect(os.path.join(folder, str(peer)), deadline)
                self._peers[peer].sendall(struct.pack("<i", rank))
            while len(self._peers) < world - 1:
                listener.settimeout(max(0.01, deadline - time.monotonic()))
                peer_socket, _ = listener.accept()
                peer_socket.settimeout(timeout)
                (peer,) = struct.unpack("<i", self._receive(peer_socket, 4))
                if not rank < peer < world or peer in self._peers:
                    raise CollcError(f"somebody in {folder} calls itself rank {peer} of {world}")
                self._peers[peer] = peer_socket
            for peer_socket in self._peers.values():
                peer_socket.settimeout(timeout)
        except (OSError, EOFError) as error:
            self.close()
            missing = sorted(set(range(world)) - set(self._peers) - {rank})
            raise CollcError(f"rank {rank} does not find rank {', '.join(map(str, missing))} in {folder}: {error}") from None
        finally:
            listener.close()
            try:
                os.unlink(path)
            except FileNotFoundError:
                pass

    @staticmethod
    def _connect(path: str, deadline: float) -> socket.socket:
        while True:
            peer = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                peer.connect(path)
                return peer
            except (FileNotFoundError, ConnectionRefusedError):
                peer.close()
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.01)

    @staticmethod
    def _receive(peer: socket.socket, count: int) -> bytes:
        data = b""
        while len(data) < count:
            part = peer.recv(count - len(data))
            if not part:
                raise EOFError("a rank is gone")
            data += part
        return data

    def gather(self, mine: bytes) -> list[bytes]:
        """What every rank gave, of the same length; a few kilobytes at most. Raises CollcError when a rank is gone."""
        try:
            for peer in self._peers.values():
                peer.sendall(mine)
            return [mine if p == self.rank else self._receive(self._peers[p], len(mine)) for p in range(self.world)]
        except (OSError, EOFError) as error:
            raise CollcError(f"rank {self.rank} lost a rank: {error}") from None

    def meet(self) -> None:
        """Nobody returns before everybody has called."""
        self.gather(b"\x01")

    def gather_descriptors(self, mine: int) -> list[int]:
        """Descriptors of what every rank's is of, the caller's to close; -1 in the own place."""
        received: list[int] = [-1] * self.world
        try:
            for peer in self._peers.values():
                socket.send_fds(peer, [b"\x00"], [mine])
            for rank, peer in self._peers.items():
                _, descriptors, _, _ = socket.recv_fds(peer, 1, 1)
                if len(descriptors) != 1:
                    raise EOFError(f"rank {rank} sent no descriptor")
                received[rank] = descriptors[0]
            return received
        except (OSError, EOFError) as error:
            for descriptor in received:
                if descriptor >= 0:
                    os.close(descriptor)
            raise CollcError(f"rank {self.rank} got no descriptor: {error}") from None

    def close(self) -> None:
        for peer in self._peers.values():
            peer.close()
        self._peers = {}

    def __enter__(self) -> Exchange:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def connect(loaded: LoadedProgram, ranks: Exchange) -> SymmetricMemory | None:
    """
    What every rank does between loading a program and its first launch: compares fingerprints, makes the workspace, resets, and meets.

    Returns the workspace, to be closed after the program; None where the program needs none.
    Raises CollcError where a rank runs other code.
    """
    from .gpu import SymmetricMemory

    everybody = ranks.gather(loaded.fingerprint)
    for rank, fingerprint in enumerate(everybody):
        if fingerprint != loaded.fingerprint:
            raise CollcError(f"rank {rank} runs other code than rank {ranks.rank}, or has reserved for other shapes")
    memory = SymmetricMemory(loaded.gpu, ranks, loaded.symmetric_bytes) if loaded.symmetric_bytes > 0 else None
    loaded.attach(memory if memory is not None else [])
    loaded.reset()
    ranks.meet()
    return memory
