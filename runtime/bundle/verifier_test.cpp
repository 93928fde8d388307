// Bundles that load, and what no single field decides: offsets, limits, how many ops are missing.
// Broken fields are in broken_fields_test.cpp.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/reflect.h"
#include "tests/support/verifier_testing.h"

namespace lazyrt {
namespace {

using test::BundleParts;
using test::tiny_method;
using testing::HasSubstr;

TEST(Verifier, TheUnbrokenBundleLoads) {
  const Status status = load(test::tiny_bundle());
  EXPECT_TRUE(status.ok()) << status.message();
}

/// Where the offsets to strings, vectors and tables lie in the metadata, with their paths.
std::vector<std::pair<std::string, size_t>> offsets_in(test::AlignedBytes* file) {
  std::vector<std::pair<std::string, size_t>> out;
  uint8_t* root = file->data() + file->prolog().metadata_offset;
  root += flatbuffers::ReadScalar<uint32_t>(root);
  test::visit_fields(root, fb::BundleTypeTable(), [&](const test::FieldAt& f) {
    if (f.is_offset) out.emplace_back(f.path, static_cast<size_t>(f.where - file->data()));
  });
  return out;
}

TEST(Verifier, EveryOffsetOfTheFlatBufferIsChecked) {
  test::AlignedBytes good = test::write_bundle(test::tiny_bundle());
  const auto offsets = offsets_in(&good);
  EXPECT_GT(offsets.size(), 60u);
  for (uint32_t wrong : {0xFFFFFFF0u, 0x7FFFFFF0u, 0x00100000u}) {
    for (const auto& [path, where] : offsets) {
      test::AlignedBytes file = good.copy();
      flatbuffers::WriteScalar(file.data() + where, wrong);
      test::reseal(&file);
      const Status status = Program::load(file.span(), test::tiny_ops()).status();
      EXPECT_EQ(status.error(), Error::kInvalidBundle) << path;
    }
  }
}

TEST(Verifier, MemoryLimitIsTheCallers) {
  const BundleParts parts = test::tiny_bundle();
  LoadOptions options;
  options.memory_limit = parts.bundle.methods[0]->arena_bytes;
  EXPECT_TRUE(load(parts, options).ok());
  options.memory_limit -= 1;
  const Status status = load(parts, options);
  EXPECT_EQ(status.error(), Error::kOutOfMemory);
  EXPECT_THAT(status.message(), HasSubstr("method 'forward': its arena needs"));
}

/// Two elements a byte: room in the format, sized rightly, refused by name.
TEST(Verifier, ElementsOfFourBitsAreSizedAndRefusedByName) {
  const auto with = [](std::vector<int64_t> shape, uint64_t bytes) {
    BundleParts parts = test::tiny_bundle();
    auto value = std::make_unique<fb::ValueT>();
    value->name = "packed";
    value->kind = fb::ValueKind::Constant;
    value->dtype = fb::DType::Int4;
    value->shape = std::move(shape);
    value->bytes = bytes;
    parts.bundle.methods[0]->values.push_back(std::move(value));
    return load(parts);
  };
  const std::pair<std::vector<int64_t>, uint64_t> sizes[] = {
      {{}, 1}, {{2}, 1}, {{3, 3}, 5}, {{4, 4}, 8}, {{0, 3}, 0}};
  for (const auto& [shape, bytes] : sizes) {
    EXPECT_EQ(dtype_bytes(DType::kInt4, Shape(Span<const int64_t>(shape)).numel()), bytes);
    const Status right = with(shape, bytes), wrong = with(shape, bytes + 1);
    EXPECT_EQ(right.error(), Error::kUnsupported);
    EXPECT_THAT(right.message(), HasSubstr("i4 values"));
    EXPECT_THAT(right.message(), HasSubstr("'packed'"));
    EXPECT_EQ(wrong.error(), Error::kInvalidBundle) << wrong.message();
  }
  EXPECT_THAT(with({3, 3}, 9).message(), HasSubstr("9 bytes, but i4[3,3] takes 5"));
}

TEST(Verifier, UnsupportedOpsAreCounted) {
  BundleParts parts = test::tiny_bundle();
  node(parts, test::tiny::kReluNode).op.Set(fb::SoftmaxT());
  node(parts, test::tiny::kTotalNode).op.Set(fb::WhereT());
  const Status status = load(parts);
  EXPECT_EQ(status.error(), Error::kUnsupported);
  EXPECT_THAT(status.message(), HasSubstr("Softmax"));
  EXPECT_THAT(status.message(), HasSubstr("1 more nodes too"));
}

TEST(Verifier, GuardsStatesAndVariantsLoad) {
  BundleParts parts = test::tiny_bundle();
  add_guard(parts).seen_integer = INT64_MIN;
  fb::StateT& state = add_state(parts);
  state.next = test::tiny::kRows;
  state.initial = -1;
  parts.bundle.methods[0]->variants.push_back(
      std::make_unique<fb::MethodT>(*parts.bundle.methods[0]));
  EXPECT_TRUE(load(parts).ok()) << load(parts).message();
}

TEST(Verifier, SymbolsTermsAndPatchesLoad) {
  BundleParts parts = test::tiny_bundle();
  add_patch(parts, fb::Patch(test::tiny::kFlatNode, 0, 0, 0, fb::FieldType::Int64));
  EXPECT_TRUE(load(parts).ok()) << load(parts).message();
}

TEST(Verifier, WhatChangesWithTheSizesMustBeStored) {
  BundleParts parts = test::tiny_bundle();
  add_batch(parts);
  flatbuffers::FlatBufferBuilder builder;  // without ForceDefaults: the first offset is absent
  fb::FinishBundleBuffer(builder, fb::CreateBundle(builder, &parts.bundle));
  const auto file = test::write_bundle({builder.GetBufferPointer(), builder.GetSize()}, parts);
  const Status status = Program::load(file.span(), test::tiny_ops()).status();
  EXPECT_EQ(status.error(), Error::kInvalidBundle);
  EXPECT_THAT(status.message(), HasSubstr("value 0 ('x'): offset, bytes or alias_of is absent"));
}

TEST(Verifier, StatesCountForTheMemoryLimit) {
  BundleParts parts = test::tiny_bundle();
  add_state(parts);
  LoadOptions options;
  options.memory_limit = parts.bundle.methods[0]->arena_bytes + 64;
  EXPECT_TRUE(load(parts, options).ok());
  options.memory_limit -= 1;
  const Status status = load(parts, options);
  EXPECT_EQ(status.error(), Error::kOutOfMemory);
  EXPECT_THAT(status.message(), HasSubstr("its arena and states need"));
}

TEST(Verifier, BatchZeroAndEmptyMethodsLoad) {
  BundleParts parts;
  test::MethodBuilder b(&parts);
  const int x = b.input("x", DType::kFloat32, {0, 3});
  b.output("y", b.node(test::relu(), {x}, DType::kFloat32, {0, 3}));
  EXPECT_TRUE(load(parts).ok()) << load(parts).message();
  BundleParts empty;
  test::MethodBuilder(&empty, "nothing");
  EXPECT_TRUE(load(empty).ok()) << load(empty).message();
}

TEST(Verifier, TwoMethodsOfDifferentNamesLoad) {
  BundleParts parts = test::tiny_bundle();
  parts.bundle.methods.push_back(tiny_method());
  parts.bundle.methods[1]->name = "other";
  EXPECT_TRUE(load(parts).ok());
}

}  // namespace
}  // namespace lazyrt
