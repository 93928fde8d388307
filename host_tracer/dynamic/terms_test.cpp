#include "host_tracer/dynamic/terms.h"

#include <gtest/gtest.h>

namespace lazyrt {
namespace {

using Op = fb::TermOp;

const std::vector<std::string> kNames = {"batch", "seq"};

fb::Term symbol(int32_t index) { return {0, 0, index, -1, Op::Symbol}; }
fb::Term integer(int64_t value) { return {value, 0, -1, -1, Op::Integer}; }
fb::Term operation(Op op, int32_t a, int32_t b) { return {0, 0, a, b, op}; }

/// `depth` operations, each of the one before and of the symbol, or of the one before twice.
TermList nested(Op op, int depth, bool twice) {
  std::vector<fb::Term> terms = {symbol(0)};
  for (int i = 0; i < depth; ++i) terms.push_back(operation(op, i, twice ? i : 0));
  return TermList(std::move(terms));
}

TEST(TermText, ReadsAsPython) {
  TermList terms;
  const TermId half = terms.make(
      Op::FloorDivide, terms.make(Op::Add, terms.symbol(1), terms.integer(1)), terms.integer(2));
  EXPECT_EQ(terms.text(half, kNames), "(seq + 1) // 2");
  const TermId most = terms.make(Op::Max, half, terms.make(Op::SquareRoot, terms.symbol(0)));
  EXPECT_EQ(terms.text(most, kNames), "max((seq + 1) // 2, sqrt(batch))");
  EXPECT_EQ(terms.text(terms.make(Op::Multiply, most, terms.real(0.5)), kNames),
            "max((seq + 1) // 2, sqrt(batch)) * 0.5");
}

/// Of 2^60 characters, and nested a million times.
TEST(TermText, IsBounded) {
  for (const Op op : {Op::Add, Op::Max, Op::FloorDivide}) {
    const std::string shared = nested(op, 60, true).text(60, kNames);
    EXPECT_EQ(shared.size(), kMostTermText);
    EXPECT_EQ(shared.substr(kMostTermText - 3), "...");
    const std::string deep = nested(op, 1000000, false).text(1000000, kNames);
    EXPECT_EQ(deep.size(), kMostTermText);
  }
  const std::string roots = nested(Op::SquareRoot, 1000000, false).text(1000000, kNames);
  EXPECT_EQ(roots.substr(0, 15), "sqrt(sqrt(sqrt(");
  const std::vector<std::string> long_name = {std::string(1000000, 'n')};
  EXPECT_EQ(nested(Op::Add, 60, true).text(60, long_name).size(), kMostTermText);
}

/// A right operand is written last: depth there must be bounded by what is written before it.
TEST(TermText, IsBoundedOnTheRight) {
  std::vector<fb::Term> terms = {symbol(0)};
  for (int i = 0; i < 1000000; ++i) terms.push_back(operation(Op::Subtract, 0, i));
  const std::string text = TermList(std::move(terms)).text(1000000, kNames);
  EXPECT_EQ(text.substr(0, 18), "batch - (batch - (");
  EXPECT_EQ(text.size(), kMostTermText);
}

TEST(TermText, OfWhatNobodyChecked) {
  const TermList terms({symbol(7), symbol(-1), operation(Op::Add, 2, 0), operation(Op::Max, 9, -5),
                        operation(static_cast<Op>(200), 0, 0), operation(Op::Divide, 4, 1)});
  EXPECT_EQ(terms.text(0, kNames), "symbol 7");
  EXPECT_EQ(terms.text(1, kNames), "symbol -1");
  EXPECT_EQ(terms.text(2, kNames), "term 2 + symbol 7") << "it is its own operand";
  EXPECT_EQ(terms.text(3, kNames), "max(term 9, term -5)");
  EXPECT_EQ(terms.text(4, kNames), "term 4") << "of an operation that the schema lacks";
  EXPECT_EQ(terms.text(5, kNames), "term 4 / symbol -1");
  EXPECT_EQ(terms.text(-1, kNames), "term -1");
  EXPECT_EQ(terms.text(6, kNames), "term 6");
}

TEST(PatchText, NamesTheField) {
  TermList terms;
  const TermId n = terms.make(Op::Subtract, terms.symbol(1), terms.integer(1));
  const auto text = [&](fb::OpAttrs kind, int32_t field, int32_t index) {
    return patch_text(kind, fb::Patch(0, field, index, n, fb::FieldType::Int64), terms, kNames);
  };
  EXPECT_EQ(text(fb::OpAttrs::Reshape, 0, 1), "shape[1] = seq - 1");
  EXPECT_EQ(text(fb::OpAttrs::Unary, 1, -1), "alpha = seq - 1");
}

TEST(PatchText, OfAFieldThatTheSchemaLacks) {
  const TermList terms({integer(0)});
  const auto text = [&](fb::OpAttrs kind, int32_t field) {
    return patch_text(kind, fb::Patch(0, field, -1, 0, fb::FieldType::Int64), terms, kNames);
  };
  EXPECT_EQ(text(fb::OpAttrs::Unary, 30000), "field 30000 = 0");
  EXPECT_EQ(text(fb::OpAttrs::Unary, -1), "field -1 = 0");
  const auto fields = static_cast<int32_t>(fb::UnaryTypeTable()->num_elems);
  EXPECT_NE(text(fb::OpAttrs::Unary, fields - 1).rfind("field", 0), 0u);
  EXPECT_EQ(text(fb::OpAttrs::Unary, fields).rfind("field", 0), 0u);
  EXPECT_EQ(text(fb::OpAttrs::NONE, 0), "field 0 = 0");
  EXPECT_EQ(text(static_cast<fb::OpAttrs>(250), 0), "field 0 = 0");
}

}  // namespace
}  // namespace lazyrt
