// What a file holds by the thousands takes time in proportion.

#include <gtest/gtest.h>

#include <chrono>

#include "tests/support/loaded_bundle.h"

namespace lazyrt {
namespace {

using test::BundleParts;
using test::MethodBuilder;

/// A method with one scalar constant and `count` times the same guard of it: 20 bytes for each.
test::AlignedBytes one_table_for_all_guards(size_t count) {
  flatbuffers::FlatBufferBuilder b;
  const std::vector<int64_t> shape;
  const std::vector<flatbuffers::Offset<fb::Value>> value = {fb::CreateValueDirect(
      b, "c", fb::ValueKind::Constant, fb::DType::Float32, &shape, nullptr, 0, 4)};
  const auto values = b.CreateVector(value);
  const auto guards =
      b.CreateVector(std::vector<flatbuffers::Offset<fb::Guard>>(count, fb::CreateGuard(b)));
  const auto name = b.CreateString("forward");
  fb::MethodBuilder method(b);
  method.add_name(name);
  method.add_values(values);
  method.add_guards(guards);
  method.add_arena_bytes(64);
  const std::vector<flatbuffers::Offset<fb::Method>> methods = {method.Finish()};
  const std::string producer(count * 16 + 1000, 'x');  // room for what the guards are charged
  b.Finish(fb::CreateBundleDirect(b, producer.c_str(), &methods), fb::BundleIdentifier());
  BundleParts parts;
  parts.constants.resize(64);
  return test::write_bundle({b.GetBufferPointer(), b.GetSize()}, parts);
}

TEST(Many, RefusalsOfEachGuardAreCountedAtOnce) {
  constexpr size_t kGuards = 300000;
  const test::AlignedBytes file = one_table_for_all_guards(kGuards);
  const Result<Program> program = Program::load(file.span(), default_ops());
  ASSERT_TRUE(program.ok()) << program.status().message();
  Session session = test::make(program->method(0));
  ASSERT_TRUE(session.run().ok());
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(session.stats().guard_refusals, 0u);
  for (size_t i = 0; i < kGuards; ++i) ASSERT_EQ(session.guard_refusals(i), 0u);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));
}

}  // namespace
}  // namespace lazyrt
