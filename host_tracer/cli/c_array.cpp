#include "host_tracer/cli/c_array.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <set>
#include <vector>

#include "host_tracer/support/partial_file.h"
#include "lazyrt/static_memory.h"
#include "runtime/platform/platform.h"

namespace lazyrt {
namespace {

namespace fs = std::filesystem;

struct FreeBlock {
  void operator()(uint8_t* block) const { std::free(block); }
};
using AlignedBlock = std::unique_ptr<uint8_t, FreeBlock>;

AlignedBlock aligned_block(size_t bytes) {
  const size_t whole = (bytes + kBufferAlignment) / kBufferAlignment * kBufferAlignment;
  return AlignedBlock(static_cast<uint8_t*>(std::aligned_alloc(kBufferAlignment, whole)));
}

/// The memory that a program and one session of a method take, on the reference kernels.
struct PoolSizes {
  std::string name;
  uint64_t arena = 0, inputs = 0, states = 0, workspace = 0, packed = 0, plan = 0;
  size_t program = 0;  ///< bytes of the buffer, while there is no session
  size_t buffer = 0;
};

class Measure {
 public:
  explicit Measure(Span<const uint8_t> bundle) : bundle_(bundle) {}

  Outcome<std::vector<PoolSizes>> all() {
    auto program = Program::load(bundle_, default_ops());
    if (!program.ok()) return program.status();
    std::vector<PoolSizes> sizes;
    std::set<std::string> names;
    for (size_t m = 0; m < program->method_count(); ++m) {
      auto one = measure(m, program->method(m));
      if (!one.ok()) return one.failure();
      while (!names.insert(one->name).second) one->name += "_";
      sizes.push_back(std::move(*one));
    }
    return sizes;
  }

 private:
  /// Measures in a buffer like that of a device, large enough in any case.
  Outcome<PoolSizes> measure(size_t index, const Method& described) {
    const size_t room = (size_t{64} << 20) + 4 * described.arena_bytes() + 16 * bundle_.size();
    const AlignedBlock block = aligned_block(room);
    if (block == nullptr) return Failure{Error::kOutOfMemory, "no memory to measure a session in"};
    StaticMemory memory(block.get(), room);
    LoadOptions load;
    load.allocator = memory.hooks();
    auto program = Program::load(bundle_, default_ops(), load);
    if (!program.ok()) return program.status();
    PoolSizes sizes;
    sizes.program = memory.used();
    SessionOptions options;
    options.backend = reference_backend();
    options.allocator = memory.hooks();
    const Method method = program->method(index);
    auto session = Session::create(method, options);
    if (!session.ok()) return session.status();
    const SessionStats stats = session->stats();
    for (size_t i = 0; i < method.input_count(); ++i) {
      const TensorInfo input = method.input(i);
      sizes.inputs += TensorView{nullptr, input.dtype, input.shape}.bytes();
    }
    sizes.name = identifier(method.name());
    sizes.arena = stats.arena_bytes;
    sizes.states = stats.state_bytes;
    sizes.workspace = stats.workspace_bytes;
    sizes.packed = stats.packed_weight_bytes;
    sizes.plan = stats.plan_bytes;
    sizes.buffer = memory.peak();
    return sizes;
  }

  static std::string identifier(const std::string& name) {
    std::string out;
    for (char c : name) out += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
    if (out.empty() || std::isdigit(static_cast<unsigned char>(out[0])) != 0) out = "_" + out;
    return out;
  }

  const Span<const uint8_t> bundle_;
};

std::string line(const char* name, uint64_t value, const char* what) {
  return std::string("  static constexpr size_t ") + name + " = " + std::to_string(value) +
         ";  ///< " + what + "\n";
}

std::string text_of(const PoolSizes& s) {
  const std::string method = "struct " + s.name + " {\n";
  return method + line("kBufferBytes", s.buffer, "for the Program and one Session together") +
         line("kArenaBytes", s.arena, "of that: values of a run") +
         line("kInputBytes", s.inputs, "in the arena") +
         line("kStateBytes", s.states, "what stays from run to run") +
         line("kWorkspaceBytes", s.workspace, "scratch of kernels") +
         line("kPackedBytes", s.packed, "copies of weights") +
         line("kPlanBytes", s.plan, "tables of a run, at most") +
         line("kProgramBytes", s.program, "the Program alone, at most") + "};\n";
}

std::string header_text(const std::string& name, size_t bytes,
                        const std::vector<PoolSizes>& sizes) {
  std::string text =
      "// Written by lazy-export: a bundle to run in place, and the memory that its methods take.\n"
      "#pragma once\n\n#include <stddef.h>\n#include <stdint.h>\n\n"
      "#ifdef __cplusplus\nextern \"C\" {\n#endif\n"
      "extern const uint8_t " +
      name + "_bundle[" + std::to_string(bytes) +
      "];\n"
      "#ifdef __cplusplus\n}\n\n"
      "// Exact with 64-bit pointers; with smaller ones no more is needed, since no part is larger "
      "there.\n"
      "// For the reference backend, at the shapes of the export.\n"
      "namespace " +
      name + " {\n\n";
  for (const PoolSizes& s : sizes) text += text_of(s) + "\n";
  return text + "}  // namespace " + name + "\n#endif\n";
}

std::string array_text(const std::string& name, Span<const uint8_t> bundle) {
  std::string text = "// Written by lazy-export.\n#include \"" + name +
                     ".h\"\n\n"
                     "#if defined(__ELF__)\n__attribute__((section(\".lazyrt_bundle\")))\n#endif\n"
                     "__attribute__((aligned(64)))\nconst uint8_t " +
                     name + "_bundle[" + std::to_string(bundle.size()) + "] = {";
  for (size_t i = 0; i < bundle.size(); ++i) {
    text += i % 24 == 0 ? "\n" : "";
    text += std::to_string(bundle.data()[i]);
    text += ",";
  }
  return text + "\n};\n";
}

}  // namespace

bool is_array_name(const std::string& name) {
  const auto is_letter = [](char c) {
    return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0;
  };
  return !name.empty() && std::isdigit(static_cast<unsigned char>(name[0])) == 0 &&
         std::all_of(name.begin(), name.end(), is_letter);
}

Outcome<Done> write_c_array(const std::string& bundle, const std::string& name,
                            const std::string& folder) {
  MappedFile file;
  LAZYRT_TRY([&]() -> Outcome<Done> {
    const Status mapped = platform_map_file(bundle.c_str(), &file);
    if (!mapped.ok()) return mapped;
    return Done();
  }());
  const struct Unmap {
    const MappedFile& file;
    ~Unmap() { platform_unmap_file(file); }
  } unmap{file};
  const Span<const uint8_t> bytes = {file.data, file.bytes};
  const auto sizes = Measure(bytes).all();
  if (!sizes.ok()) return sizes.failure();
  const std::string stem = (fs::path(folder) / name).string();
  LAZYRT_TRY(write_text_file(stem + ".c", array_text(name, bytes)));
  return write_text_file(stem + ".h", header_text(name, bytes.size(), *sizes));
}

}  // namespace lazyrt
