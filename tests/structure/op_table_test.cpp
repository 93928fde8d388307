// The op table is complete: every operator of the schema has a shape rule, a reference kernel and
// cases.

#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>

#include "lazyrt/runtime.h"
#include "runtime/op/op_def.h"

namespace lazyrt {
namespace {

struct Line {
  fb::OpAttrs kind;
  const char* name;
  const char* folder;
};

const Line kLines[] = {
#define LAZYRT_OP(Member, name, folder) {fb::OpAttrs::Member, #name, #folder},
#include "kernels/ops.inc"
#undef LAZYRT_OP
};

std::string file_of(const Line& line, const char* ending) {
  return std::string(LAZYRT_SOURCE_DIR "/kernels/") + line.folder + "/" + line.name + ending;
}

TEST(OpTable, EveryMemberOfTheUnionHasOneLine) {
  std::set<fb::OpAttrs> kinds;
  std::set<std::string> names;
  for (const Line& line : kLines) {
    EXPECT_TRUE(kinds.insert(line.kind).second) << line.name;
    EXPECT_TRUE(names.insert(line.name).second) << line.name;
  }
  EXPECT_EQ(kinds.size(), static_cast<size_t>(fb::OpAttrs::MAX) - 1) << "all but CustomOp";
}

TEST(OpTable, EveryOpHasAShapeRuleAWorkRuleAndAReferenceKernel) {
  for (const Line& line : kLines) {
    SCOPED_TRACE(line.name);
    const OpEntry* entry = default_ops().find({line.kind, nullptr});
    ASSERT_NE(entry, nullptr);
    EXPECT_STREQ(entry->name, line.name);
    EXPECT_EQ(entry->kind, line.kind);
    EXPECT_NE(entry->def->infer, nullptr);
    EXPECT_NE(entry->def->work, nullptr);
    ASSERT_NE(entry->kernels[0], nullptr);
    EXPECT_NE(entry->kernels[0]->run, nullptr);
    EXPECT_GE(entry->def->min_inputs, line.kind == fb::OpAttrs::Full ? 0 : 1);
    EXPECT_TRUE(entry->def->max_inputs == -1 || entry->def->max_inputs >= entry->def->min_inputs);
    EXPECT_GE(entry->def->outputs, 1);
  }
}

TEST(OpTable, EveryOpHasCases) {
  for (const Line& line : kLines) {
    EXPECT_TRUE(std::filesystem::exists(file_of(line, ".cpp"))) << line.name;
    EXPECT_TRUE(std::filesystem::exists(file_of(line, "_cases.cpp")))
        << line.name << " has no conformance cases";
  }
}

TEST(OpTable, FacetsOnDiskAreInTheTable) {
  for (const Line& line : kLines) {
    const OpEntry* entry = default_ops().find({line.kind, nullptr});
    EXPECT_EQ(std::filesystem::exists(file_of(line, "_cpu.cpp")), entry->kernels[1] != nullptr)
        << line.name;
    const bool has_shader = LAZYRT_HAS_VULKAN && std::filesystem::exists(file_of(line, "_vk.cpp"));
    EXPECT_EQ(has_shader, entry->kernels[2] != nullptr) << line.name;
  }
}

/// A view shares memory with operand 0 only; a view that may also be written in place would be two
/// readings of one alias.
TEST(OpTable, ViewsAreNotInPlace) {
  for (const Line& line : kLines) {
    const OpDef& def = *default_ops().find({line.kind, nullptr})->def;
    EXPECT_FALSE(def.is_view && def.inplace_inputs != 0) << line.name;
    EXPECT_EQ(def.optional_inputs & 1, 0u) << line.name;
  }
}

}  // namespace
}  // namespace lazyrt
