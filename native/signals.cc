#include "signals.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <mutex>

namespace collc {
namespace {

/// `sigaction` for a library: it may ask, and is told that what it wants is done.
int AskAction(int signal, const struct sigaction*, struct sigaction* old) { return ::sigaction(signal, nullptr, old); }

using Handler = void (*)(int);
Handler AskHandler(int signal, Handler) {
  struct sigaction action {};
  return ::sigaction(signal, nullptr, &action) == 0 ? action.sa_handler : SIG_ERR;
}

/// Tables of an object that is loaded; the loader has made the addresses in its dynamic section absolute.
struct Dynamic {
  const ElfW(Sym) * symbols = nullptr;
  const char* names = nullptr;
  const ElfW(Rela) * tables[2] = {};
  std::size_t bytes[2] = {};
};

Dynamic Read(const link_map& map) {
  Dynamic dynamic;
  for (const ElfW(Dyn)* entry = map.l_ld; entry && entry->d_tag != DT_NULL; ++entry) {
    const ElfW(Addr) address = entry->d_un.d_ptr;
    switch (entry->d_tag) {
      case DT_SYMTAB:
        dynamic.symbols = reinterpret_cast<const ElfW(Sym)*>(address);
        break;
      case DT_STRTAB:
        dynamic.names = reinterpret_cast<const char*>(address);
        break;
      case DT_JMPREL:
        dynamic.tables[0] = reinterpret_cast<const ElfW(Rela)*>(address);
        break;
      case DT_PLTRELSZ:
        dynamic.bytes[0] = entry->d_un.d_val;
        break;
      case DT_RELA:
        dynamic.tables[1] = reinterpret_cast<const ElfW(Rela)*>(address);
        break;
      case DT_RELASZ:
        dynamic.bytes[1] = entry->d_un.d_val;
        break;
      default:
        break;
    }
  }
  return dynamic;
}

/// Writes into a table of addresses that the loader may have made read-only.
void Overwrite(void** slot, void* value) {
  if (*slot == value) return;
  const std::uintptr_t page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const std::uintptr_t first = reinterpret_cast<std::uintptr_t>(slot) & ~(page - 1);
  if (mprotect(reinterpret_cast<void*>(first), page, PROT_READ | PROT_WRITE) == 0) *slot = value;
}

constexpr int kSignals = 32;  ///< 1 to 31: those for real-time uses have no meaning of their own.

std::mutex mutex;
int keepers = 0;
struct sigaction kept[kSignals];

/// Whether the program, or this addon, holds that code: Node's handlers and libuv's are there.
bool IsOwn(const struct sigaction& action) {
  const Handler handler = action.sa_handler;
  if (handler == SIG_DFL || handler == SIG_IGN) return false;
  Dl_info there{}, program{}, here{};
  if (!dladdr(reinterpret_cast<void*>(handler), &there)) return false;
  static const char anchor = 0;
  dladdr(reinterpret_cast<const void*>(&anchor), &here);
  // The program is what holds Node's own functions: an executable, or libnode.
  void* node = dlsym(RTLD_DEFAULT, "napi_create_object");
  return there.dli_fbase == here.dli_fbase ||
         (node && dladdr(node, &program) && there.dli_fbase == program.dli_fbase);
}

bool IsSame(const struct sigaction& a, const struct sigaction& b) {
  return a.sa_handler == b.sa_handler && a.sa_flags == b.sa_flags &&
         std::memcmp(&a.sa_mask, &b.sa_mask, sizeof(std::uint64_t)) == 0;
}

/// Puts back what something else than the program has changed.
void Repair() {
  for (int signal = 1; signal < kSignals; ++signal) {
    struct sigaction now {};
    if (sigaction(signal, nullptr, &now) != 0 || IsSame(now, kept[signal])) continue;
    // libuv sets its handler when a listener comes and the default when the last one goes.
    const bool is_the_programs =
        (now.sa_handler != kept[signal].sa_handler && IsOwn(now)) ||
        (now.sa_handler == SIG_DFL && IsOwn(kept[signal]));
    if (is_the_programs) {
      kept[signal] = now;
    } else {
      sigaction(signal, &kept[signal], nullptr);
    }
  }
}

}  // namespace

void ShieldSignals(void* library) {
  link_map* map = nullptr;
  if (!library || dlinfo(library, RTLD_DI_LINKMAP, &map) != 0 || !map) return;
  const Dynamic dynamic = Read(*map);
  if (!dynamic.symbols || !dynamic.names) return;
  for (int table = 0; table < 2; ++table) {
    const std::size_t count = dynamic.tables[table] ? dynamic.bytes[table] / sizeof(ElfW(Rela)) : 0;
    for (std::size_t i = 0; i < count; ++i) {
      const ElfW(Rela)& relocation = dynamic.tables[table][i];
#if __ELF_NATIVE_CLASS == 64
      const std::size_t symbol = ELF64_R_SYM(relocation.r_info);
#else
      const std::size_t symbol = ELF32_R_SYM(relocation.r_info);
#endif
      if (symbol == 0) continue;
      const char* name = dynamic.names + dynamic.symbols[symbol].st_name;
      void** slot = reinterpret_cast<void**>(map->l_addr + relocation.r_offset);
      if (std::strcmp(name, "sigaction") == 0) {
        Overwrite(slot, reinterpret_cast<void*>(&AskAction));
      } else if (std::strcmp(name, "signal") == 0) {
        Overwrite(slot, reinterpret_cast<void*>(&AskHandler));
      }
    }
  }
}

KeepSignals::KeepSignals() {
  std::lock_guard<std::mutex> lock(mutex);
  if (keepers++ > 0) return;
  for (int signal = 1; signal < kSignals; ++signal) sigaction(signal, nullptr, &kept[signal]);
}

KeepSignals::~KeepSignals() {
  std::lock_guard<std::mutex> lock(mutex);
  Repair();
  --keepers;
}

}  // namespace collc
