// Modules and launches. A fake cubin is a 64-byte ELF header and then text, ended by a zero: "FAKE", then one line a
// function: `name params=8,8,4 registers=32`.
#include <algorithm>
#include <cstring>
#include <sstream>

#include "driver.h"

namespace fake {
namespace {

struct Module {
  int device;
  std::vector<std::unique_ptr<Function>> functions;
};
// Never destroyed: threads may still ask while the process exits.
std::map<Module*, std::unique_ptr<Module>>& modules = *new std::map<Module*, std::unique_ptr<Module>>;
std::set<Function*>& functions = *new std::set<Function*>;

constexpr std::size_t kHeader = 64;

std::unique_ptr<Function> ParseFunction(const std::string& line, int device) {
  auto function = std::make_unique<Function>();
  function->device = device;
  std::istringstream words(line);
  words >> function->name;
  std::string word;
  while (words >> word) {
    const std::size_t equals = word.find('=');
    const std::string key = word.substr(0, equals);
    std::istringstream values(word.substr(equals + 1));
    std::string value;
    if (key == "registers") values >> function->registers;
    if (key == "noop") function->noop = true;
    while (key == "names" && std::getline(values, value, ',')) function->names.push_back(value);
    if (key != "params") continue;
    while (std::getline(values, value, ',')) function->parameters.push_back(std::stoul(value));
  }
  return function;
}

int Occupancy(const Function& function, int threads, std::size_t shared) {
  if (threads <= 0 || threads > 1024) return 0;
  const int by_threads = 2048 / threads;
  const int by_registers = 65536 / (function.registers * threads);
  const int by_shared = static_cast<int>((228u << 10) / (shared + 1024));
  return std::min({by_threads, by_registers, by_shared, 32});
}

std::string Hex(const std::vector<std::uint8_t>& bytes) {
  std::string text;
  for (const std::uint8_t byte : bytes) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

struct Config {
  unsigned grid[3];
  unsigned block[3];
  unsigned shared;
  bool cooperative;
  bool early;
};

/// The operation that a launch is. Returns an error, or 0.
int OpOf(Function* function, const Config& config, void** parameters, Op* op) {
  const unsigned threads = config.block[0] * config.block[1] * config.block[2];
  const unsigned blocks = config.grid[0] * config.grid[1] * config.grid[2];
  if (threads == 0 || threads > 1024 || blocks == 0) return kInvalidValue;
  if (static_cast<int>(config.shared) > function->max_dynamic_shared) return kInvalidValue;
  if (config.cooperative && blocks > static_cast<unsigned>(Multiprocessors() * Occupancy(*function, threads, config.shared))) return kTooLarge;

  Arguments arguments;
  for (std::size_t i = 0; i < function->parameters.size(); ++i) {
    const auto* bytes = static_cast<const std::uint8_t*>(parameters[i]);
    arguments.emplace_back(bytes, bytes + function->parameters[i]);
  }
  Op run = BuiltIn(function->name, function->device, arguments);
  if (!run) run = Collective(*function, arguments);
  if (!run && function->noop) run = [] {};
  if (!run) return kInvalidImage;
  std::ostringstream line;
  line << "{\"launch\":\"" << function->name << "\",\"device\":" << function->device << ",\"grid\":[" << config.grid[0]
       << "," << config.grid[1] << "," << config.grid[2] << "],\"block\":[" << config.block[0] << "," << config.block[1]
       << "," << config.block[2] << "],\"shared\":" << config.shared
       << ",\"cooperative\":" << (config.cooperative ? "true" : "false")
       << ",\"early\":" << (config.early ? "true" : "false") << ",\"parameters\":[";
  for (std::size_t i = 0; i < arguments.size(); ++i) line << (i ? ",\"" : "\"") << Hex(arguments[i]) << "\"";
  line << "]}";
  *op = [run, text = line.str()] {
    ++S().live[kLaunches];
    Log(text);
    run();
  };
  return 0;
}

int Launch(Function* function, const Config& config, CUstream handle, void** parameters) {
  if (!functions.count(function) || !IsStream(handle)) return kInvalidHandle;
  auto* stream = reinterpret_cast<Stream*>(handle);
  if (function->device != stream->device || Current() != stream->device) return kInvalidHandle;
  Op op;
  if (const int error = OpOf(function, config, parameters, &op)) return error;
  Trace("launch " + Shown(handle) + " " + function->name);
  return Enqueue(stream, op);
}

}  // namespace

int KernelOp(const KernelNodeParams* params, Op* op) {
  auto* function = reinterpret_cast<Function*>(params->func);
  if (!functions.count(function) || params->extra) return kInvalidValue;
  const unsigned *g = params->grid, *b = params->block;
  return OpOf(function, {{g[0], g[1], g[2]}, {b[0], b[1], b[2]}, params->shared_bytes, false, false}, params->parameters, op);
}

}  // namespace fake

using namespace fake;

FAKE_API cuModuleLoadData(CUmodule* module, const void* image) {
  FAKE_UNSAFE("cuModuleLoadData");
  const char* bytes = static_cast<const char*>(image);
  if (std::memcmp(bytes, "\x7f" "ELF", 4) != 0) return kInvalidImage;
  auto made = std::make_unique<Module>();
  made->device = Current();
  std::istringstream lines(bytes + kHeader);
  std::string line;
  if (!std::getline(lines, line) || line != "FAKE") return kInvalidImage;
  while (std::getline(lines, line)) {
    if (line.empty()) continue;
    made->functions.push_back(ParseFunction(line, made->device));
    functions.insert(made->functions.back().get());
  }
  *module = reinterpret_cast<CUmodule>(made.get());
  modules[made.get()] = std::move(made);
  ++S().live[kModules];
  return 0;
}

FAKE_API cuModuleUnload(CUmodule module) {
  WaitIdle();
  FAKE_CONTEXT("cuModuleUnload");
  const auto found = modules.find(reinterpret_cast<Module*>(module));
  if (found == modules.end()) return kInvalidHandle;
  for (const auto& function : found->second->functions) functions.erase(function.get());
  modules.erase(found);
  --S().live[kModules];
  return 0;
}

FAKE_API cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  FAKE_CONTEXT("cuModuleGetFunction");
  const auto found = modules.find(reinterpret_cast<Module*>(module));
  if (found == modules.end()) return kInvalidHandle;
  for (const auto& candidate : found->second->functions) {
    if (candidate->name != name) continue;
    *function = reinterpret_cast<CUfunction>(candidate.get());
    return 0;
  }
  return kNotFound;
}

FAKE_API cuFuncGetAttribute(int* value, int attribute, CUfunction handle) {
  FAKE_CONTEXT("cuFuncGetAttribute");
  auto* function = reinterpret_cast<Function*>(handle);
  if (!functions.count(function)) return kInvalidHandle;
  const std::map<int, int> values = {{0, 1024}, {1, 0},  {2, 0}, {3, 0}, {4, function->registers},
                                     {6, 90},   {8, function->max_dynamic_shared}};
  const auto found = values.find(attribute);
  if (found == values.end()) return kInvalidValue;
  *value = found->second;
  return 0;
}

FAKE_API cuFuncSetAttribute(CUfunction handle, int attribute, int value) {
  FAKE_CONTEXT("cuFuncSetAttribute");
  auto* function = reinterpret_cast<Function*>(handle);
  if (!functions.count(function)) return kInvalidHandle;
  if (attribute != FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES || value < 0 || value > 232448) return kInvalidValue;
  function->max_dynamic_shared = value;
  return 0;
}

// What the driver refuses, it refuses; the map's first words are the address, the type and rank, the first size and the box.
FAKE_API cuTensorMapEncodeTiled(CUtensorMap* map, int type, std::uint32_t rank, void* address, const std::uint64_t* sizes,
                                const std::uint64_t* strides, const std::uint32_t* box, const std::uint32_t* steps,
                                int interleave, int swizzle, int promotion, int fill) {
  FAKE_ENTER("cuTensorMapEncodeTiled");
  const auto start = reinterpret_cast<std::uint64_t>(address);
  if (start % 16 != 0 || rank == 0 || rank > 5 || interleave != 0 || swizzle != 3 || promotion != 3 || fill != 0) return kInvalidValue;
  for (std::uint32_t d = 0; d < rank; ++d) {
    if (sizes[d] == 0 || sizes[d] > (1ull << 32) || box[d] == 0 || box[d] > 256 || steps[d] != 1) return kInvalidValue;
    if (d + 1 < rank && strides[d] % 16 != 0) return kInvalidValue;
  }
  *map = {};
  map->opaque[0] = start;
  map->opaque[1] = static_cast<std::uint64_t>(type) << 32 | rank;
  map->opaque[2] = sizes[0];
  map->opaque[3] = static_cast<std::uint64_t>(box[0]) << 32 | (rank > 1 ? box[1] : 0);
  return 0;
}

FAKE_API cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction handle, int threads, std::size_t shared) {
  FAKE_CONTEXT("cuOccupancyMaxActiveBlocksPerMultiprocessor");
  auto* function = reinterpret_cast<Function*>(handle);
  if (!functions.count(function)) return kInvalidHandle;
  *blocks = Occupancy(*function, threads, shared);
  return 0;
}

FAKE_API cuLaunchKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                        unsigned bz, unsigned shared, CUstream stream, void** parameters, void** extra) {
  FAKE_CONTEXT("cuLaunchKernel");
  if (extra) return kInvalidValue;
  const Config config = {{gx, gy, gz}, {bx, by, bz}, shared, false, false};
  return Launch(reinterpret_cast<Function*>(function), config, stream, parameters);
}

FAKE_API cuLaunchKernelEx(const LaunchConfig* launch, CUfunction function, void** parameters, void** extra) {
  FAKE_CONTEXT("cuLaunchKernelEx");
  if (extra) return kInvalidValue;
  const unsigned *g = launch->grid, *b = launch->block;
  Config config = {{g[0], g[1], g[2]}, {b[0], b[1], b[2]}, launch->shared_bytes, false, false};
  for (unsigned i = 0; i < launch->attribute_count; ++i) {
    const LaunchAttribute& attribute = launch->attributes[i];
    if (attribute.id == LAUNCH_ATTRIBUTE_COOPERATIVE) config.cooperative = attribute.value != 0;
    else if (attribute.id == LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION) config.early = attribute.value != 0;
    else return kInvalidValue;
  }
  return Launch(reinterpret_cast<Function*>(function), config, launch->stream, parameters);
}
