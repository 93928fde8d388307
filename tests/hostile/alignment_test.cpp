// 64-bit elements at addresses that are none of theirs: refused, in every vector that the schema
// has.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lazyrt/runtime.h"
#include "tests/support/reflect.h"
#include "tests/support/tiny_bundle.h"

namespace lazyrt {
namespace {

using test::MethodBuilder;

bool is_wide_vector(flatbuffers::TypeCode code) {
  return code.is_repeating != 0 &&
         test::scalar_bytes(static_cast<flatbuffers::ElementaryType>(code.base_type)) == 8;
}

size_t wide_vectors(const flatbuffers::TypeTable* type) {
  size_t count = 0;
  for (size_t i = 0; i < type->num_elems; ++i) count += is_wide_vector(type->type_codes[i]) ? 1 : 0;
  return count;
}

/// Of all operators' tables.
size_t wide_attributes() {
  const flatbuffers::TypeTable* members = fb::OpAttrsTypeTable();
  size_t count = 0;
  for (size_t i = 0; i < members->num_elems; ++i) {
    const auto ref = members->type_codes[i].sequence_ref;
    if (ref >= 0) count += wide_vectors(members->type_refs[ref]());
  }
  return count;
}

/// Every wide vector at least once, all of twos: read from the middle of an element they hold twos.
test::BundleParts bundle_of_wide_vectors() {
  test::BundleParts parts;
  MethodBuilder m(&parts);
  const std::vector<int64_t> twos = {2, 2, 2, 2};
  const int x = m.input("x", DType::kFloat32, twos);
  fb::ReshapeT reshape;
  reshape.shape = twos;
  fb::ExpandT expand;
  expand.shape = twos;
  fb::SliceT slice;
  slice.starts = slice.sizes = slice.steps = twos;
  fb::PadT pad;
  pad.before = pad.after = twos;
  const int a = m.node(reshape, {x}, DType::kFloat32, twos);
  const int b = m.node(expand, {a}, DType::kFloat32, twos);
  const int c = m.node(slice, {b}, DType::kFloat32, twos);
  m.output("y", m.node(pad, {c}, DType::kFloat32, twos));
  fb::FullT full;
  full.dtype = fb::DType::Float32;
  full.shape = twos;
  m.output("z", m.node(full, {}, DType::kFloat32, twos));
  fb::ValueT& value = *m.method().values[0];
  value.quantization = std::make_unique<fb::QuantizationT>();
  value.quantization->zero_points = twos;
  auto sample = std::make_unique<fb::SampleT>();
  for (auto* blobs : {&sample->inputs, &sample->outputs}) {
    blobs->push_back(std::make_unique<fb::BlobT>());
    blobs->back()->shape = twos;
  }
  m.method().samples.push_back(std::move(sample));
  return parts;
}

std::vector<std::pair<std::string, size_t>> wide_vectors_in(test::AlignedBytes* file) {
  std::vector<std::pair<std::string, size_t>> out;
  uint8_t* root = file->data() + file->prolog().metadata_offset;
  root += flatbuffers::ReadScalar<uint32_t>(root);
  test::visit_fields(root, fb::BundleTypeTable(), [&](const test::FieldAt& f) {
    if (f.is_vector && test::scalar_bytes(f.type) == 8)
      out.emplace_back(f.path, static_cast<size_t>(f.where - file->data()));
  });
  return out;
}

TEST(Alignment, EachVectorOf64BitsIsChecked) {
  test::AlignedBytes good = test::write_bundle(bundle_of_wide_vectors());
  size_t attributes = 0;
  for (const auto& [path, where] : wide_vectors_in(&good)) {
    SCOPED_TRACE(path);
    attributes += path.rfind("methods.nodes.op.", 0) == 0 ? 1 : 0;
    test::AlignedBytes file = good.copy();
    uint8_t* offset = file.data() + where;
    flatbuffers::WriteScalar(offset, flatbuffers::ReadScalar<uint32_t>(offset) + 4);
    test::reseal(&file);
    // Nothing may read it: the sanitizers' builds would say so.
    EXPECT_FALSE(Program::load(file.span(), default_ops()).ok());
  }
  EXPECT_EQ(attributes, wide_attributes()) << "an operator's attribute is not in this test";
  EXPECT_EQ(wide_vectors(fb::ValueTypeTable()), 1u);
  EXPECT_EQ(wide_vectors(fb::QuantizationTypeTable()), 1u);
  EXPECT_EQ(wide_vectors(fb::BlobTypeTable()), 1u);
  EXPECT_EQ(wide_vectors(fb::BundleTypeTable()) + wide_vectors(fb::MethodTypeTable()) +
                wide_vectors(fb::SymbolTypeTable()) + wide_vectors(fb::GuardTypeTable()) +
                wide_vectors(fb::StateTypeTable()) + wide_vectors(fb::LiteralTypeTable()),
            0u);
}

/// One node with this table, an attribute of it shifted by half an element.
template <class TableT>
std::string message_of_shifted(const TableT& attributes) {
  test::BundleParts parts;
  MethodBuilder m(&parts);
  m.output("y", m.node(attributes, {m.input("x", DType::kFloat32, {2, 2, 2, 2})}, DType::kFloat32,
                       {2, 2, 2, 2}));
  std::string messages;
  test::AlignedBytes good = test::write_bundle(parts);
  for (const auto& [path, where] : wide_vectors_in(&good)) {
    if (path.rfind("methods.nodes.op.", 0) != 0) continue;
    test::AlignedBytes file = good.copy();
    uint8_t* offset = file.data() + where;
    flatbuffers::WriteScalar(offset, flatbuffers::ReadScalar<uint32_t>(offset) + 4);
    test::reseal(&file);
    messages += Program::load(file.span(), default_ops()).status().message() + std::string("\n");
  }
  return messages;
}

TEST(Alignment, OfAttributesIsRefusedByName) {
  const std::vector<int64_t> twos = {2, 2, 2, 2};
  fb::ReshapeT reshape;
  reshape.shape = twos;
  fb::ExpandT expand;
  expand.shape = twos;
  fb::SliceT slice;
  slice.starts = slice.sizes = slice.steps = twos;
  fb::PadT pad;
  pad.before = pad.after = twos;
  const std::string text = ": an attribute of it is not aligned\n";
  const auto times = [&](const char* op, int n) {
    std::string all;
    for (int i = 0; i < n; ++i) all += std::string("method 'forward', node 0 (") + op + ")" + text;
    return all;
  };
  EXPECT_EQ(message_of_shifted(reshape), times("reshape", 1));
  EXPECT_EQ(message_of_shifted(expand), times("expand", 1));
  EXPECT_EQ(message_of_shifted(slice), times("slice", 3));
  EXPECT_EQ(message_of_shifted(pad), times("pad", 2));
  fb::FullT full;
  full.dtype = fb::DType::Float32;
  full.shape = twos;
  EXPECT_EQ(message_of_shifted(full), times("full", 1));
}

TEST(Alignment, OfTermsIsRefusedByName) {
  test::BundleParts parts;
  MethodBuilder m(&parts);
  m.output("y", m.node(test::relu(), {m.input("x", DType::kFloat32, {2})}, DType::kFloat32, {2}));
  m.method().terms.assign(3, fb::Term(1, 0, 0, 0, fb::TermOp::Integer));
  test::AlignedBytes file = test::write_bundle(parts);
  ASSERT_TRUE(Program::load(file.span(), default_ops()).ok());
  uint8_t* metadata = file.data() + file.prolog().metadata_offset;
  const fb::Method& method = *fb::GetBundle(metadata)->methods()->Get(0);
  auto* where = const_cast<uint8_t*>(
      reinterpret_cast<const flatbuffers::Table&>(method).GetAddressOf(fb::Method::VT_TERMS));
  auto* terms = const_cast<uint8_t*>(reinterpret_cast<const uint8_t*>(method.terms()));
  flatbuffers::WriteScalar<uint32_t>(terms + 4, 2);  // the length of a vector that begins here
  flatbuffers::WriteScalar(where, flatbuffers::ReadScalar<uint32_t>(where) + 4);
  test::reseal(&file);
  EXPECT_STREQ(Program::load(file.span(), default_ops()).status().message(),
               "method 'forward': its terms are not aligned");
}

}  // namespace
}  // namespace lazyrt
