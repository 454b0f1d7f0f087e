// The end of a process whose libraries cannot be taken down.
#pragma once

namespace collc {

/// Ends the process with what was printed, and without destructors.
[[noreturn]] void EndAtOnce(int code);

}  // namespace collc
