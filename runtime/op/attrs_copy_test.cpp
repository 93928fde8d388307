#include "runtime/op/attrs_copy.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <vector>

#include "flatbuffers/minireflect.h"

namespace lazyrt {
namespace {

namespace fbs = flatbuffers;

struct Packed {
  explicit Packed(fb::OpAttrsUnion&& op, bool defaults = false) : kind(op.type) {
    builder.ForceDefaults(defaults);
    builder.Finish(fbs::Offset<fbs::Table>(op.Pack(builder).o));
  }
  OpAttrs view() const { return {kind, fbs::GetRoot<fbs::Table>(builder.GetBufferPointer())}; }

  fb::OpAttrs kind;
  fbs::FlatBufferBuilder builder;
};

const fbs::TypeTable& type_of(fb::OpAttrs kind) {
  const fbs::TypeTable* all = fb::OpAttrsTypeTable();
  return *all->type_refs[all->type_codes[static_cast<size_t>(kind)].sequence_ref]();
}

std::string text_of_table(const OpAttrs& attrs) {
  fbs::ToStringVisitor visitor(" ", true, "", true);
  fbs::IterateObject(static_cast<const uint8_t*>(attrs.table), &type_of(attrs.kind), &visitor);
  return visitor.s;
}

/// The copy, made in memory of exactly the size that was asked for, after the original is gone.
void expect_copied(std::unique_ptr<Packed> original) {
  const std::string text = text_of_table(original->view());
  const size_t bytes = attrs_copy_bytes(original->view());
  ASSERT_EQ(bytes % 8, 0u);
  const std::unique_ptr<uint8_t, void (*)(void*)> memory(static_cast<uint8_t*>(std::malloc(bytes)),
                                                         std::free);
  uint8_t* next = memory.get();
  const OpAttrs copy = copy_attrs(original->view(), &next);
  EXPECT_EQ(next, memory.get() + bytes);
  original.reset();
  EXPECT_EQ(text_of_table(copy), text);
}

TEST(AttrsCopy, EveryTableIsCopied) {
  for (int kind = 1; kind <= static_cast<int>(fb::OpAttrs::MAX); ++kind) {
    SCOPED_TRACE(fb::EnumNameOpAttrs(static_cast<fb::OpAttrs>(kind)));
    for (const bool defaults : {false, true}) {
      // An empty table is a table of any type.
      fbs::FlatBufferBuilder builder;
      builder.Finish(fbs::Offset<fbs::Table>(builder.EndTable(builder.StartTable())));
      fb::OpAttrsUnion op;
      op.type = static_cast<fb::OpAttrs>(kind);
      op.value = fb::OpAttrsUnion::UnPack(fbs::GetRoot<fbs::Table>(builder.GetBufferPointer()),
                                          op.type, nullptr);
      expect_copied(std::make_unique<Packed>(std::move(op), defaults));
    }
  }
}

TEST(AttrsCopy, VectorsAndTextsAreCopied) {
  fb::OpAttrsUnion slice;
  fb::SliceT s;
  s.starts = {1, -2, int64_t{1} << 40};
  s.sizes = {};
  s.steps = {7};
  slice.Set(std::move(s));
  expect_copied(std::make_unique<Packed>(std::move(slice)));
  fb::OpAttrsUnion custom;
  fb::CustomOpT c;
  c.name = "mine";
  c.version = 3;
  c.attributes = {1, 2, 3, 4, 5};
  custom.Set(std::move(c));
  expect_copied(std::make_unique<Packed>(std::move(custom)));
}

TEST(AttrsCopy, KnowsEveryKindOfField) {
  for (int kind = 1; kind <= static_cast<int>(fb::OpAttrs::MAX); ++kind) {
    const fbs::TypeTable& type = type_of(static_cast<fb::OpAttrs>(kind));
    SCOPED_TRACE(fb::EnumNameOpAttrs(static_cast<fb::OpAttrs>(kind)));
    EXPECT_LE(type.num_elems, 32u);
    for (size_t i = 0; i < type.num_elems; ++i) {
      const fbs::TypeCode code = type.type_codes[i];
      EXPECT_NE(code.base_type, fbs::ET_SEQUENCE) << type.names[i];
      EXPECT_FALSE(code.base_type == fbs::ET_STRING && code.is_repeating) << type.names[i];
    }
  }
}

}  // namespace
}  // namespace lazyrt
