// The verdicts of our loop and of flatc's verifiers are the same, for whole metadata and for broken
// ones.

#include "runtime/bundle/structure.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "schema/bundle_file.h"
#include "tests/support/bundle_writer.h"
#include "tests/support/verifier_testing.h"

namespace lazyrt {
namespace {

/// Memory that ends where the metadata ends, so that a sanitizer sees a read behind it.
class Metadata {
 public:
  explicit Metadata(Span<const uint8_t> bytes)
      : size_(bytes.size()),
        data_(static_cast<uint8_t*>(std::aligned_alloc(64, (size_ + 63) / 64 * 64)), std::free) {
    std::memcpy(data_.get(), bytes.data(), size_);
  }
  uint8_t* data() { return data_.get(); }
  size_t size() const { return size_; }
  Span<const uint8_t> first(size_t bytes) const { return {data_.get(), bytes}; }

 private:
  size_t size_;
  std::unique_ptr<uint8_t, void (*)(void*)> data_;
};

bool flatc_says(Span<const uint8_t> metadata) {
  flatbuffers::Verifier verifier(metadata.data(), metadata.size(), kBundleMaxDepth,
                                 kBundleMaxTables);
  return verifier.VerifyBuffer<fb::Bundle>(nullptr);
}

/// A method with something in each field that a table has, and so many nodes of each operator.
Metadata full_metadata(int of_each = 1) {
  test::BundleParts parts = test::tiny_bundle();
  test::add_state(parts);
  test::add_real_guard(parts).text = "bool(x > 0)";
  test::add_patch(parts, fb::Patch(2, 0, 0, 0, fb::FieldType::Int64));
  test::add_variant(parts);
  test::method(parts).values[0]->quantization = std::make_unique<fb::QuantizationT>();
  test::method(parts).values[0]->quantization->scales = {1, 2};
  test::method(parts).values[0]->quantization->zero_points = {3, 4};
  auto literal = std::make_unique<fb::LiteralT>();
  literal->name = "n";
  test::method(parts).literals.push_back(std::move(literal));
  constexpr int kKinds = static_cast<int>(fb::OpAttrs::MAX);
  for (int i = 0; i < of_each * kKinds; ++i) {
    const int kind = i / of_each + 1;
    auto node = std::make_unique<fb::NodeT>();
    node->op.type = static_cast<fb::OpAttrs>(kind);
    switch (node->op.type) {
#define LAZYRT_MEMBER(name)             \
  case fb::OpAttrs::name:               \
    node->op.value = new fb::name##T(); \
    break;
#include "schema/op_tables.inc"
#undef LAZYRT_MEMBER
      default:
        break;
    }
    if (node->op.type == fb::OpAttrs::CustomOp) {
      node->op.AsCustomOp()->name = "custom";
      node->op.AsCustomOp()->attributes = {1, 2, 3};
    }
    if (node->op.type == fb::OpAttrs::Slice) node->op.AsSlice()->starts = {1, 2};
    if (node->op.type == fb::OpAttrs::Reduce) node->op.AsReduce()->axes = {1};
    if (node->op.type == fb::OpAttrs::Full) node->op.AsFull()->shape = {1, 2};
    test::method(parts).nodes.push_back(std::move(node));
  }
  flatbuffers::FlatBufferBuilder builder;
  builder.ForceDefaults(true);
  builder.Finish(fb::Bundle::Pack(builder, &parts.bundle), fb::BundleIdentifier());
  return Metadata({builder.GetBufferPointer(), builder.GetSize()});
}

template <class T>
const flatbuffers::Table& table_of(const T& t) {
  return reinterpret_cast<const flatbuffers::Table&>(t);
}

bool is_structure(Span<const uint8_t> bytes) {
  StructureFacts facts;
  return is_bundle_structure(bytes, &facts);
}

void expect_agreement(Span<const uint8_t> bytes) {
  const bool whole = flatc_says(bytes);
  ASSERT_EQ(is_structure(bytes), whole);
}

TEST(Structure, OfWholeMetadataIsWhole) {
  const Metadata metadata = full_metadata();
  EXPECT_TRUE(flatc_says(metadata.first(metadata.size())));
  EXPECT_TRUE(is_structure(metadata.first(metadata.size())));
}

TEST(Structure, WhatIsCutIsJudgedAsByFlatc) {
  const Metadata metadata = full_metadata();
  for (size_t bytes = 0; bytes < metadata.size(); ++bytes) {
    Metadata cut(metadata.first(bytes));
    SCOPED_TRACE(std::to_string(bytes) + " bytes");
    expect_agreement(cut.first(bytes));
  }
}

/// Each byte, also those of vtables and of what no offset leads to.
TEST(Structure, EveryChangedByteIsJudgedAsByFlatc) {
  Metadata metadata = full_metadata();
  size_t damaged = 0;
  for (size_t at = 0; at < metadata.size(); ++at) {
    const uint8_t byte = metadata.data()[at];
    for (const int change : {1, 2, 4, 0x7f, 0x80, 0xff}) {
      metadata.data()[at] = static_cast<uint8_t>(byte ^ change);
      SCOPED_TRACE("byte " + std::to_string(at) + " changed by " + std::to_string(change));
      expect_agreement(metadata.first(metadata.size()));
      damaged += is_structure(metadata.first(metadata.size())) ? 0 : 1;
    }
    metadata.data()[at] = byte;
  }
  EXPECT_GT(damaged, metadata.size() / 4);
}

/// Tables that have one vtable, read as those of each operator: what was found of one does not hold
/// for another kind.
TEST(Structure, AttributesOfOtherOperatorsAreJudgedAsByFlatc) {
  Metadata metadata = full_metadata(2);
  const Span<const uint8_t> bytes = metadata.first(metadata.size());
  size_t damaged = 0;
  for (const fb::Node* node : *fb::GetBundle(metadata.data())->methods()->Get(0)->nodes()) {
    const uint8_t* field = table_of(*node).GetAddressOf(fb::Node::VT_OP_TYPE);
    ASSERT_NE(field, nullptr);
    uint8_t& type = metadata.data()[field - metadata.data()];
    const uint8_t kept = type;
    for (type = 0; type <= static_cast<uint8_t>(fb::OpAttrs::MAX) + 1; ++type) {
      SCOPED_TRACE("operator " + std::to_string(kept) + " as " + std::to_string(type));
      expect_agreement(bytes);
      damaged += is_structure(bytes) ? 0 : 1;
    }
    type = kept;
  }
  EXPECT_GT(damaged, 0u);
}

/// What was found of a table as another operator's, one without fields among them, is not said of
/// the next one at its vtable.
TEST(Structure, DamageBehindAnotherOperatorIsSeen) {
  Metadata metadata = full_metadata(2);
  const Span<const uint8_t> bytes = metadata.first(metadata.size());
  const fb::Node* first = nullptr;
  const fb::Node* second = nullptr;
  for (const fb::Node* node : *fb::GetBundle(metadata.data())->methods()->Get(0)->nodes()) {
    if (node->op_type() != fb::OpAttrs::Full) continue;
    (first == nullptr ? first : second) = node;
  }
  ASSERT_NE(second, nullptr);
  const auto& full = table_of(*second->op_as_Full());
  ASSERT_EQ(table_of(*first->op_as_Full()).GetVTable(), full.GetVTable());
  const auto place = [&](const uint8_t* at) -> uint8_t* {
    return metadata.data() + (at - metadata.data());
  };
  uint8_t* shape = place(full.GetAddressOf(fb::Full::VT_SHAPE));
  uint8_t* type = place(table_of(*first).GetAddressOf(fb::Node::VT_OP_TYPE));
  shape[3] = 0x7f;
  for (*type = 0; *type <= static_cast<uint8_t>(fb::OpAttrs::MAX) + 1; ++*type) {
    EXPECT_FALSE(is_structure(bytes)) << "the first as operator " << int{*type};
    expect_agreement(bytes);
  }
}

/// The same table 4 bytes on: its number of 64 bits is aligned no more, at a vtable that was seen.
TEST(Structure, TablesOfOneVtableAreAlignedEach) {
  for (const fb::OpAttrs kind : {fb::OpAttrs::Unary, fb::OpAttrs::LayerNorm, fb::OpAttrs::BatchNorm,
                                 fb::OpAttrs::TopK, fb::OpAttrs::Triangle}) {
    SCOPED_TRACE(fb::EnumNameOpAttrs(kind));
    Metadata metadata = full_metadata(2);
    const Span<const uint8_t> bytes = metadata.first(metadata.size());
    const auto position = [&](const void* part) {
      return static_cast<size_t>(static_cast<const uint8_t*>(part) - metadata.data());
    };
    const fb::Node* second = nullptr;
    for (const fb::Node* node : *fb::GetBundle(metadata.data())->methods()->Get(0)->nodes()) {
      if (node->op_type() == kind) second = node;
    }
    ASSERT_NE(second, nullptr);
    const auto* table = static_cast<const flatbuffers::Table*>(second->op());
    const size_t at = position(table);
    const size_t vtable = position(table->GetVTable());
    const size_t place = position(table_of(*second).GetAddressOf(fb::Node::VT_OP));
    EXPECT_TRUE(is_structure(bytes));
    for (const size_t moved : {at + 4, at + 8}) {
      const auto to_vtable = static_cast<int32_t>(moved - vtable);
      const auto ahead = static_cast<uint32_t>(moved - place);
      std::memcpy(metadata.data() + moved, &to_vtable, sizeof(to_vtable));
      std::memcpy(metadata.data() + place, &ahead, sizeof(ahead));
      EXPECT_EQ(is_structure(bytes), moved == at + 8);
      expect_agreement(bytes);
    }
  }
}

TEST(Structure, WordsOfAllKindsAreJudgedAsByFlatc) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 generator(seed);
  const auto random = [&] { return static_cast<uint32_t>(generator()); };
  Metadata metadata = full_metadata(2);
  const auto words = static_cast<uint32_t>(metadata.size() / 4);
  for (int round = 0; round < 20000; ++round) {
    const size_t at = random() % words * 4;
    uint32_t kept = 0;
    std::memcpy(&kept, metadata.data() + at, sizeof(kept));
    const uint32_t kinds[] = {0u,
                              random() % words * 4,
                              uint32_t(metadata.size() - at),
                              0x7fffffffu,
                              0x80000000u - random() % 64,
                              ~0u - random() % 64,
                              kept + random() % 9 - 4,
                              random()};
    const uint32_t word = kinds[random() % 8];
    std::memcpy(metadata.data() + at, &word, sizeof(word));
    SCOPED_TRACE("word at " + std::to_string(at) + ": " + std::to_string(word));
    expect_agreement(metadata.first(metadata.size()));
    // Now and then the damage stays, and adds up.
    if (round % 16 != 0 || !is_structure(metadata.first(metadata.size())))
      std::memcpy(metadata.data() + at, &kept, sizeof(kept));
  }
}

/// Variants within variants: more than the depth that is allowed.
TEST(Structure, DepthIsLimitedAsByFlatc) {
  for (uint32_t depth = 1; depth <= kBundleMaxDepth + 2; ++depth) {
    auto method = std::make_unique<fb::MethodT>();
    for (uint32_t i = 1; i < depth; ++i) {
      auto outer = std::make_unique<fb::MethodT>();
      outer->variants.push_back(std::move(method));
      method = std::move(outer);
    }
    fb::BundleT bundle;
    bundle.methods.push_back(std::move(method));
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(fb::Bundle::Pack(builder, &bundle), fb::BundleIdentifier());
    const Span<const uint8_t> bytes(builder.GetBufferPointer(), builder.GetSize());
    EXPECT_EQ(is_structure(bytes), depth < kBundleMaxDepth);
    expect_agreement(bytes);
  }
}

/// All that an honest file has is walked once, and little more than its tables' heads is left out.
TEST(Structure, WalksEachByteOfAnHonestFileOnce) {
  const Metadata metadata = full_metadata();
  StructureFacts facts;
  ASSERT_TRUE(is_bundle_structure(metadata.first(metadata.size()), &facts));
  EXPECT_LE(facts.walked, metadata.size());
  EXPECT_GT(facts.walked, metadata.size() / 3);
}

/// One table that a long vector names again and again.
TEST(Structure, RepeatedTablesAreCountedAsByFlatc) {
  for (const uint32_t count : {kBundleMaxTables - 1, kBundleMaxTables}) {
    flatbuffers::FlatBufferBuilder builder;
    const auto entry = fb::CreateKeyValue(builder);
    const std::vector<flatbuffers::Offset<fb::KeyValue>> entries(count, entry);
    builder.Finish(fb::CreateBundle(builder, 0, 0, builder.CreateVector(entries)));
    const Span<const uint8_t> bytes(builder.GetBufferPointer(), builder.GetSize());
    EXPECT_EQ(is_structure(bytes), count < kBundleMaxTables);
    expect_agreement(bytes);
  }
}

}  // namespace
}  // namespace lazyrt
