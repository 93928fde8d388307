// The arena of a bundle at given sizes, beside the least that any plan of the same program needs,
// and how long binding takes.
//
//     bound_arena BUNDLE [NAME=SIZE]...        sizes that are not given are those of the file

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "lazyrt/runtime.h"
#include "runtime/bundle/arena_packing.h"
#include "runtime/bundle/bound_program.h"
#include "runtime/bundle/method_check.h"
#include "runtime/bundle/program_state.h"
#include "runtime/bundle/symbol_numbers.h"
#include "runtime/bundle/variant_sizes.h"
#include "runtime/bundle/verifier.h"
#include "schema/bundle_file.h"

namespace {

using namespace lazyrt;

[[noreturn]] void fail(const std::string& text) {
  std::fprintf(stderr, "bound_arena: %s\n", text.c_str());
  std::exit(1);
}

void require(const Status& status) {
  if (!status.ok()) fail(status.message());
}

/// The file's bytes, aligned as a mapped file is.
class File {
 public:
  explicit File(const char* path) {
    std::ifstream in(path, std::ios::binary);
    std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    if (bytes.empty()) fail(std::string("cannot read ") + path);
    const size_t room = (bytes.size() + 4095) / 4096 * 4096;
    data_ = static_cast<uint8_t*>(std::aligned_alloc(4096, room));
    if (data_ == nullptr) fail("no memory");
    std::memcpy(data_, bytes.data(), bytes.size());
    size_ = bytes.size();
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() { std::free(data_); }
  Span<const uint8_t> span() const { return {data_, size_}; }

 private:
  uint8_t* data_ = nullptr;
  size_t size_ = 0;
};

std::vector<int64_t> sizes_of(const fb::Method& method, const std::vector<std::string>& given) {
  int64_t sizes[kBundleMaxSymbols] = {};
  read_file_sizes(method, sizes);
  for (const std::string& text : given) {
    const size_t equals = text.find('=');
    bool found = false;
    for (uint32_t i = 0; i < count_of(method.symbols()); ++i) {
      if (text.substr(0, equals) != text_of(method.symbols()->Get(i)->name())) continue;
      sizes[i] = std::atoll(text.c_str() + equals + 1);
      found = true;
    }
    if (!found) fail("no symbol is named as in '" + text + "'");
  }
  return {sizes, sizes + count_of(method.symbols())};
}

/// What lies in the arena, as the planner sees it: values that share memory are one piece.
std::vector<ArenaPiece> pieces_of(const MethodCheck& check) {
  std::vector<ArenaPiece> pieces;
  std::vector<size_t> piece_of(check.values.size(), SIZE_MAX);
  for (size_t id = 0; id < check.values.size(); ++id) {
    const ValueFacts& facts = check.values[id];
    if (facts.kind != fb::ValueKind::Arena && facts.kind != fb::ValueKind::Input) continue;
    if (facts.alias_of >= 0 && piece_of[static_cast<size_t>(facts.alias_of)] != SIZE_MAX) {
      piece_of[id] = piece_of[static_cast<size_t>(facts.alias_of)];
      ArenaPiece& piece = pieces[piece_of[id]];
      piece.last = std::max(piece.last, facts.last_use);
      continue;
    }
    piece_of[id] = pieces.size();
    pieces.push_back({facts.made_at, std::max(facts.last_use, facts.made_at),
                      align_up(facts.bytes + kBundleTailBytes, kBundleAlignment), 0});
  }
  return pieces;
}

uint64_t lower_bound_of(const fb::Method& method, const BundleSections& sections,
                        const ProgramState& base) {
  WorkMeter work(base.options);
  MethodCheck check(method, sections, *base.ops, base.allocator, {&work, nullptr});
  check.mode = CheckMode::kBound;
  require(check_values(&check));
  require(check_input_bindings(&check));
  require(check_nodes(&check));
  require(check_output_bindings(&check));
  require(check_states(&check));
  const std::vector<ArenaPiece> pieces = pieces_of(check);
  uint64_t bytes = 0;
  if (!arena_lower_bound({pieces.data(), pieces.size()}, base.allocator, &bytes)) fail("no memory");
  return bytes;
}

void print(const char* what, uint64_t arena, uint64_t bound) {
  std::printf("%s: arena %llu bytes, lower bound %llu, %.3f of it\n", what,
              static_cast<unsigned long long>(arena), static_cast<unsigned long long>(bound),
              bound == 0 ? 1.0 : static_cast<double>(arena) / static_cast<double>(bound));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) fail("usage: bound_arena BUNDLE [NAME=SIZE]...");
  const File file(argv[1]);
  ProgramState base;
  base.ops = &default_ops();
  base.allocator = platform_allocator();
  require(read_sections(file.span(), false, &base.sections));
  require(verify_bundle(base.sections, *base.ops, base.options, base.allocator));
  const fb::Method& method = base.method(0);
  print("as in the file", method.arena_bytes(), lower_bound_of(method, base.sections, base));
  if (count_of(method.symbols()) == 0) return 0;
  const std::vector<int64_t> sizes = sizes_of(method, {argv + 2, argv + argc});
  BoundProgram bound;
  require(bound.make(base, base.allocator));
  require(bound.bind(0, {sizes.data(), sizes.size()}, nullptr));
  BundleSections sections = base.sections;
  sections.metadata = {bound.state().bound_metadata, base.sections.metadata.size()};
  const fb::Method& there = bound.state().method(0);
  print(sizes_text(method, {sizes.data(), sizes.size()}).text, there.arena_bytes(),
        lower_bound_of(there, sections, base));
  double best = 1e9;
  for (int i = 0; i < 30; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    BoundProgram again;
    require(again.make(base, base.allocator));
    require(again.bind(0, {sizes.data(), sizes.size()}, nullptr));
    const std::chrono::duration<double, std::milli> spent =
        std::chrono::steady_clock::now() - begin;
    best = std::min(best, spent.count());
  }
  std::printf("the metadata of these sizes: %.3f ms, the fastest of 30\n", best);
  return 0;
}
