#include "lazyrt/op_uses.h"

#include <gmock/gmock.h>

#include <map>
#include <string>

#include "lazyrt/runtime.h"
#include "tests/support/branching_bundle.h"
#include "tests/support/tiny_bundle.h"

namespace lazyrt {
namespace {

using testing::HasSubstr;
using Uses = std::map<std::string, uint32_t>;

constexpr uint32_t bit(DType type) { return uint32_t{1} << static_cast<unsigned>(type); }

Status list(const test::BundleParts& parts, Uses* uses) {
  const test::AlignedBytes file = test::write_bundle(parts);
  const auto add = [](void* context, const OpUse& use) {
    (*static_cast<Uses*>(context))[std::string(use.op) + "." + use.function] |= use.types;
  };
  return list_op_uses({file.data(), file.size()}, default_ops(), add, uses);
}

fb::BinaryT& last_node_of_last_variant(test::BundleParts* parts) {
  return *parts->bundle.methods[0]->variants.back()->nodes.back()->op.AsBinary();
}

TEST(OpUses, NodesOfEveryVariantCountWithTheTypesOfOperandsAndResults) {
  test::BundleParts parts = test::branching_bundle();
  Uses before;
  ASSERT_TRUE(list(parts, &before).ok());
  EXPECT_EQ(before.count("binary.Mul"), 0u);
  EXPECT_EQ(before.at("binary.Add"), bit(DType::kFloat32));
  EXPECT_EQ(before.at("index_select."), bit(DType::kFloat32) | bit(DType::kInt64));
  last_node_of_last_variant(&parts).fn = fb::BinaryFn::Mul;
  Uses after;
  ASSERT_TRUE(list(parts, &after).ok());
  EXPECT_EQ(after.at("binary.Mul"), bit(DType::kFloat32));
}

TEST(OpUses, CustomOperatorsAreLeftOut) {
  Uses uses;
  ASSERT_TRUE(list(test::tiny_bundle(), &uses).ok());
  EXPECT_EQ(uses.count("test.twice"), 0u);
  EXPECT_EQ(uses.count("reshape."), 1u);
}

TEST(OpUses, WhatCannotBeReadIsRefused) {
  test::BundleParts parts = test::branching_bundle();
  last_node_of_last_variant(&parts).fn = static_cast<fb::BinaryFn>(200);
  Uses uses;
  EXPECT_THAT(list(parts, &uses).message(), HasSubstr("binary has no function 200"));
  parts = test::branching_bundle();
  parts.bundle.methods[0]->nodes[0]->inputs[0] = 999;
  EXPECT_THAT(list(parts, &uses).message(), HasSubstr("there is no value 999"));
  parts = test::branching_bundle();
  parts.bundle.methods[0]->values[0]->dtype = static_cast<fb::DType>(77);
  EXPECT_EQ(list(parts, &uses).error(), Error::kInvalidBundle);
}

}  // namespace
}  // namespace lazyrt
