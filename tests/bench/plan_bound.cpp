#include "tests/bench/plan_bound.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <vector>

#include "runtime/bundle/arena_packing.h"
#include "runtime/bundle/method_check.h"
#include "runtime/bundle/verifier.h"
#include "schema/bundle_file.h"

namespace lazyrt::bench {
namespace {

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

}  // namespace

void fail(const std::string& text) {
  std::fprintf(stderr, "%s\n", text.c_str());
  std::exit(1);
}

void require(const Status& status) {
  if (!status.ok()) fail(status.message());
}

test::AlignedBytes read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  if (bytes.empty()) fail("cannot read " + path);
  return {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()};
}

void open_program(const test::AlignedBytes& file, ProgramState* program) {
  program->ops = &default_ops();
  program->allocator = platform_allocator();
  require(read_sections(file.span(), false, &program->sections));
  require(verify_bundle(program->sections, *program->ops, program->options, program->allocator));
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

}  // namespace lazyrt::bench
