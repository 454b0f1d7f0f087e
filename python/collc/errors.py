"""What can go wrong, by what to do about it."""


class CollcError(Exception):
    """Something that collc refuses, in words that say what to do next."""


class FileError(CollcError):
    """The folder of artifacts, or a file in it, is not what it should be: build it again."""


class RequirementError(CollcError):
    """Dimensions, numbers or addresses that a program is not for."""


class DeviceError(CollcError):
    """This GPU cannot run the program."""


class DriverError(CollcError):
    """The CUDA driver is missing or refused a call. `code` is its CUresult; 0 where there is none."""

    def __init__(self, message: str, code: int = 0) -> None:
        super().__init__(message)
        self.code = code


class WaitTimeout(CollcError):
    """A wait in a kernel ran out. Synchronise on all ranks, meet, `reset`, meet, and go on."""

    def __init__(self, message: str, rank: int, peer: int, kernel: str) -> None:
        super().__init__(message)
        self.rank = rank
        self.peer = peer
        self.kernel = kernel
