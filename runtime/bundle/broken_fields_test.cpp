// One broken field at a time: every field of bundle.fbs has at least one line here, and a test says
// so.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <set>

#include "tests/support/reflect.h"
#include "tests/support/verifier_testing.h"

namespace lazyrt {
namespace {

using test::add_state;
using test::BundleParts;
using test::tiny_method;

struct Break {
  const char* field;
  const char* what;
  Error error;
  const char* message;  ///< part of it
  std::function<void(BundleParts&)> apply;
};

const fb::Term kTwo(2, 0, 0, 0, fb::TermOp::Integer);

fb::QuantizationT& quantize_ids(BundleParts& p) {
  auto q = std::make_unique<fb::QuantizationT>();
  q->scales = {0.5f, 0.25f};
  q->zero_points = {0, 1};
  q->axis = 0;
  value(p, test::tiny::kIds).quantization = std::move(q);
  return *value(p, test::tiny::kIds).quantization;
}

constexpr Error kBad = Error::kInvalidBundle;
constexpr Error kNo = Error::kUnsupported;

std::vector<Break> breaks() {
  using namespace test::tiny;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  return {
      {"methods", "none", kBad, "no method", [](auto& p) { p.bundle.methods.clear(); }},
      {"methods", "two of one name", kBad, "two methods have the name 'forward'",
       [](auto& p) { p.bundle.methods.push_back(tiny_method()); }},
      {"methods.name", "missing", kBad, "name", [](auto& p) { method(p).name = ""; }},
      {"methods.name", "too long", kBad, "a name of 4097 bytes, at most 4096 are allowed",
       [](auto& p) { method(p).name = std::string(kBundleMaxNameBytes + 1, 'a'); }},
      {"methods.name", "zero byte", kBad, "zero byte",
       [](auto& p) { method(p).name = std::string("a\0b", 3); }},

      {"methods.symbols", "of no input", kBad, "symbol 'batch': no dim of an input gives its value",
       [](auto& p) { add_symbol(p); }},
      {"methods.symbols", "too many", kBad, "65 symbols, at most 64",
       [](auto& p) {
         for (int i = 0; i < 65; ++i) add_symbol(p).name += std::to_string(i);
       }},
      {"methods.symbols", "not of its variant", kBad,
       "variant 1 of method 'forward': 0 symbols, the method has 1",
       [](auto& p) {
         add_batch(p);
         add_variant(p);
       }},
      {"methods.symbols", "another one of its variant", kBad,
       "variant 1 of method 'forward': symbol 0 is 'rows', the method's is 'batch'",
       [](auto& p) {
         add_batch(p);
         add_sized_variant(p).symbols[0]->name = "rows";
       }},
      {"methods.symbols", "of other dims in its variant", kBad,
       "variant 1 of method 'forward': input 'ids' does not have the method's fixed extents and "
       "symbols",
       [](auto& p) {
         add_batch(p);
         value(p, kIds).symbols = {0};
         add_sized_variant(p).values[kIds]->symbols.clear();
       }},
      {"methods.symbols", "bounds that its variant does not hold at", kBad, "variant 1",
       [](auto& p) {
         add_batch(p);
         add_sized_variant(p).symbols[0]->min = 3;
       }},
      {"methods.symbols", "65 methods with some", kBad, "more than 64 methods and variants with",
       [](auto& p) {
         add_batch(p);
         for (int i = 0; i < 64; ++i) add_sized_variant(p);
       }},
      {"methods.symbols", "only of a variant", kBad, "1 symbols, the method has 0",
       [](auto& p) {
         add_batch(p);
         auto dynamic = std::move(p.bundle.methods[0]);
         p.bundle.methods[0] = tiny_method();
         p.bundle.methods[0]->variants.push_back(std::move(dynamic));
       }},
      {"methods.symbols.name", "missing", kBad, "a name of the symbols is missing",
       [](auto& p) { add_symbol(p).name = ""; }},
      {"methods.symbols.min", "zero", kBad, "symbol 'batch'",
       [](auto& p) { add_symbol(p).min = 0; }},
      {"methods.symbols.name", "twice", kBad, "two symbols have the name 'batch'",
       [](auto& p) {
         add_batch(p);
         add_batch(p);
       }},
      {"methods.symbols.multiple", "zero", kBad, "are not both multiples of 0",
       [](auto& p) { add_batch(p).multiple = 0; }},
      {"methods.symbols.multiple", "of the bounds", kBad, "2 and 7 are not both multiples of 2",
       [](auto& p) {
         fb::SymbolT& s = add_batch(p);
         s.min = s.multiple = 2;
         s.max = 7;
       }},
      {"methods.symbols.multiple", "of the extent", kBad,
       "'batch' is 2, allowed are 3 to 9 in multiples of 3|allowed are 3 to 9",
       [](auto& p) {
         fb::SymbolT& s = add_batch(p);
         s.min = s.multiple = 3;
         s.max = 9;
       }},
      {"methods.symbols.max", "more than memory", Error::kOutOfMemory,
       "at its largest sizes: method 'forward' with batch=4294967296: its arena",
       [](auto& p) { add_batch(p).max = int64_t{1} << 32; }},
      {"methods.terms", "unknown operation", kNo, "term 0 (): its operation 99 is newer",
       [](auto& p) { add_terms(p, {fb::Term(0, 0, 0, 0, fb::TermOp(99))}); }},
      {"methods.terms", "no such symbol", kBad, "term 0 (Symbol): there is no symbol 1",
       [](auto& p) { add_terms(p, {fb::Term(0, 0, 1, 0, fb::TermOp::Symbol)}); }},
      {"methods.terms", "negative symbol", kBad, "term 0 (Symbol): there is no symbol -1",
       [](auto& p) { add_terms(p, {fb::Term(0, 0, -1, 0, fb::TermOp::Symbol)}); }},
      {"methods.terms", "a later operand", kBad, "term 1 (Add): operand 1 is not an earlier term",
       [](auto& p) {
         add_terms(p, {kTwo, fb::Term(0, 0, 0, 1, fb::TermOp::Add)});
       }},
      {"methods.terms", "overflow", kBad, "term 1 (Multiply): 9223372036854775807 and",
       [](auto& p) {
         add_terms(p, {fb::Term(INT64_MAX, 0, 0, 0, fb::TermOp::Integer),
                       fb::Term(0, 0, 0, 0, fb::TermOp::Multiply)});
       }},
      {"methods.terms", "division by zero", kBad, "term 2 (FloorDivide): 2 by 0",
       [](auto& p) {
         add_terms(p, {kTwo, fb::Term(0, 0, 0, 0, fb::TermOp::Subtract),
                       fb::Term(0, 0, 0, 1, fb::TermOp::FloorDivide)});
       }},
      {"methods.terms", "a remainder of reals", kBad, "term 1 (Remainder): it is of integers only",
       [](auto& p) {
         add_terms(p, {fb::Term(0, 1.5, 0, 0, fb::TermOp::Real),
                       fb::Term(0, 0, 0, 0, fb::TermOp::Remainder)});
       }},
      {"methods.terms", "not a number", kBad, "term 0 (Real): the number is not finite",
       [nan](auto& p) { add_terms(p, {fb::Term(0, nan, 0, 0, fb::TermOp::Real)}); }},
      {"methods.terms", "infinite", kBad, "term 2 (Divide): the number is not finite",
       [](auto& p) {
         add_terms(p, {kTwo, fb::Term(0, 0, 0, 0, fb::TermOp::Subtract),
                       fb::Term(0, 0, 0, 1, fb::TermOp::Divide)});
       }},
      {"methods.terms", "logarithm of zero", kBad, "term 1 (Logarithm): the number is not finite",
       [](auto& p) {
         add_terms(p, {fb::Term(0, 0, 0, 0, fb::TermOp::Integer),
                       fb::Term(0, 0, 0, 0, fb::TermOp::Logarithm)});
       }},
      {"methods.terms", "overflow at other sizes", kBad,
       "at its largest sizes: method 'forward' with batch=8: term 2 (Multiply)",
       [](auto& p) {
         add_terms(p, {fb::Term(0, 0, 0, 0, fb::TermOp::Symbol),
                       fb::Term(INT64_MAX / 4, 0, 0, 0, fb::TermOp::Integer),
                       fb::Term(0, 0, 0, 1, fb::TermOp::Multiply)});
       }},
      {"methods.patches", "no such node", kBad, "patch 0: there is no node 6",
       [](auto& p) { add_patch(p, fb::Patch(6, 0, 0, 0, fb::FieldType::Int64)); }},
      {"methods.patches", "no such term", kBad, "patch 0: there is no term 1",
       [](auto& p) { add_patch(p, fb::Patch(kFlatNode, 0, 0, 1, fb::FieldType::Int64)); }},
      {"methods.patches", "no such field", kBad, "patch 0: node 3 has no field 1",
       [](auto& p) { add_patch(p, fb::Patch(kFlatNode, 1, 0, 0, fb::FieldType::Int64)); }},
      {"methods.patches", "a field far away", kBad, "patch 0: node 3 has no field 2147483647",
       [](auto& p) { add_patch(p, fb::Patch(kFlatNode, INT32_MAX, 0, 0, fb::FieldType::Int64)); }},
      {"methods.patches", "no such element", kBad, "patch 0: element 1 of 1",
       [](auto& p) { add_patch(p, fb::Patch(kFlatNode, 0, 1, 0, fb::FieldType::Int64)); }},
      {"methods.patches", "a negative element", kBad, "patch 0: element -2 of 1",
       [](auto& p) { add_patch(p, fb::Patch(kFlatNode, 0, -2, 0, fb::FieldType::Int64)); }},
      {"methods.patches", "an element of a number", kBad,
       "patch 0: field 0 of node 0 does not have the patch's type",
       [](auto& p) { add_patch(p, fb::Patch(kRowsNode, 0, 0, 0, fb::FieldType::Int64)); }},
      {"methods.patches", "unknown type", kNo, "patch 0: its field type 9 is newer",
       [](auto& p) { add_patch(p, fb::Patch(kFlatNode, 0, 0, 0, fb::FieldType(9))); }},
      {"methods.patches", "another number", kBad, "patch 0: term 0 does not give what field 0",
       [](auto& p) {
         add_patch(p, fb::Patch(kFlatNode, 0, 0, 0, fb::FieldType::Int64));
         method(p).terms[0] = fb::Term(7, 0, 0, 0, fb::TermOp::Integer);
       }},
      {"methods.patches", "a real number", kBad, "a real number for an integer field",
       [](auto& p) {
         add_patch(p, fb::Patch(kFlatNode, 0, 0, 0, fb::FieldType::Int64));
         method(p).terms[0] = fb::Term(0, 6.0, 0, 0, fb::TermOp::Real);
       }},
      {"methods.patches", "too large", kBad, "4294967296 does not fit into 32 bits",
       [](auto& p) {
         add_patch(p, fb::Patch(kRowsNode, 0, -1, 0, fb::FieldType::Int32));
         method(p).terms[0] = fb::Term(int64_t{1} << 32, 0, 0, 0, fb::TermOp::Integer);
       }},
      {"methods.patches", "the offset of a vector", kBad,
       "patch 0: field 0 of node 3 does not have the patch's type",
       [](auto& p) { add_patch(p, fb::Patch(kFlatNode, 0, -1, 0, fb::FieldType::Int32)); }},

      {"methods.symbols.max", "below min", kBad, "symbol 'batch'",
       [](auto& p) { add_symbol(p).max = 0; }},

      {"methods.values", "one too few", kBad, "there is no value 8",
       [](auto& p) { method(p).values.pop_back(); }},
      {"methods.values", "one too many", kBad, "value 9 (''): no node makes it",
       [](auto& p) {
         method(p).values.push_back(std::make_unique<fb::ValueT>(value(p, kRows)));
         method(p).arena_bytes += 4096;
         method(p).values.back()->offset = method(p).arena_bytes - 64;
       }},
      {"methods.values.kind", "unknown", kNo, "kind 77",
       [](auto& p) { value(p, kX).kind = fb::ValueKind(77); }},
      {"methods.values.kind", "input made by a node", kBad, "not one of the method's inputs",
       [](auto& p) { value(p, kRows).kind = fb::ValueKind::Input; }},
      {"methods.values.kind", "constant bound as input", kBad, "not of kind Input",
       [](auto& p) { value(p, kX).kind = fb::ValueKind::Constant; }},
      {"methods.values.kind", "constant made by a node", kBad, "is an Constant, no node makes it",
       [](auto& p) {
         value(p, kRows).kind = fb::ValueKind::Constant;
         value(p, kRows).offset = 0;
       }},
      {"methods.values.kind", "state that is none", kBad,
       "of kind State, but not one of the method's states",
       [](auto& p) {
         add_state(p);
         method(p).states.clear();
       }},
      {"methods.values.kind", "state made by a node", kBad, "is an State, no node makes it",
       [](auto& p) {
         value(p, kRows).kind = fb::ValueKind::State;
         value(p, kRows).offset = 0;
       }},
      {"methods.values.kind", "state returned", kBad, "output 'again': value 9 is a state",
       [](auto& p) { method(p).outputs[3]->value = add_state(p).value; }},
      {"methods.values.offset", "of a state", kBad, "offset 64 of a state",
       [](auto& p) { value(p, add_state(p).value).offset = 64; }},
      {"methods.values.alias_of", "of a state", kBad, "cannot be an alias",
       [](auto& p) { value(p, add_state(p).value).alias_of = kX; }},
      {"methods.values.alias_of", "a state", kBad, "value 9 is not in the arena|not an earlier",
       [](auto& p) { value(p, kRows).alias_of = add_state(p).value; }},
      {"methods.values.kind", "arena without a node", kBad, "input 1: value 2 is not made yet",
       [](auto& p) {
         value(p, kW).kind = fb::ValueKind::Arena;
         value(p, kW).offset = 0;
       }},
      {"methods.values.dtype", "none", kBad, "no dtype",
       [](auto& p) { value(p, kX).dtype = fb::DType::None; }},
      {"methods.values.dtype", "unknown", kNo, "dtype 200",
       [](auto& p) { value(p, kX).dtype = fb::DType(200); }},
      {"methods.values.dtype", "of an output", kBad,
       "the bundle says i32[2,3], the operator gives f32[2,3]",
       [](auto& p) { value(p, kRows).dtype = fb::DType::Int32; }},
      {"methods.values.shape", "rank 9", kBad, "rank 9",
       [](auto& p) { value(p, kX).shape.assign(9, 1); }},
      {"methods.values.shape", "negative", kBad, "negative or too large",
       [](auto& p) {
         value(p, kX).shape = {-2, -3};
       }},
      {"methods.values.shape", "overflow", kBad, "too large",
       [](auto& p) {
         value(p, kX).shape = {int64_t{1} << 40, int64_t{1} << 40};
       }},
      {"methods.values.shape", "bytes overflow", kBad, "too large",
       [](auto& p) {
         value(p, kX).shape = {INT64_MAX / 2, 1};
         value(p, kX).bytes = uint64_t(INT64_MAX / 2) * 4;
       }},
      {"methods.values.shape", "zero times huge", kBad, "too large",
       [](auto& p) {
         value(p, kX).shape = {0, INT64_MAX, INT64_MAX};
         value(p, kX).bytes = 0;
       }},
      {"methods.values.shape", "other than inferred", kBad, "the operator gives f32[2,3]",
       [](auto& p) {
         value(p, kRows).shape = {3, 2};
       }},
      {"methods.values.symbols", "of a constant", kBad, "dim 0: its extent cannot be a symbol",
       [](auto& p) {
         add_batch(p);
         value(p, kW).symbols = {0, -1};
       }},
      {"methods.values.symbols", "two that disagree", kBad, "dim 1: 3, but symbol 'batch' is 2",
       [](auto& p) {
         add_batch(p);
         value(p, kX).symbols = {0, 0};
       }},
      {"methods.values.symbols", "not what the inputs say", kBad, "dim 0: 6, but symbol 'batch' is",
       [](auto& p) {
         add_batch(p);
         value(p, kFlat).symbols = {0};
       }},
      {"methods.values.symbols", "no such symbol", kBad, "dim 0: there is no symbol 0",
       [](auto& p) {
         value(p, kX).symbols = {0, -1};
       }},
      {"methods.values.symbols", "not one for each dim", kBad, "1 symbols for 2 dims",
       [](auto& p) { value(p, kX).symbols = {-1}; }},
      {"methods.values.symbols", "outside of its bounds", kBad,
       "dim 0 is outside of the bounds of its symbol: 'batch' is 2, allowed are 1 to 1",
       [](auto& p) {
         add_symbol(p).max = 1;
         value(p, kX).symbols = {0, -1};
       }},
      {"methods.values.offset", "odd", kBad, "not a multiple of 64",
       [](auto& p) { value(p, kRows).offset += 4; }},
      {"methods.values.offset", "past the arena", kBad, "outside of the arena",
       [](auto& p) { value(p, kRows).offset = method(p).arena_bytes; }},
      {"methods.values.offset", "huge", kBad, "outside of the arena",
       [](auto& p) { value(p, kRows).offset = UINT64_MAX - 63; }},
      {"methods.values.offset", "past the constants", kBad, "outside of the constants",
       [](auto& p) { value(p, kW).offset = 64; }},
      {"methods.values.offset", "over a live value", kBad, "it overlaps value",
       [](auto& p) {
         value(p, kSum).offset = value(p, kRelu).offset = value(p, kFlat).offset =
             value(p, kRows).offset;
       }},
      {"methods.values.offset", "over an input", kBad, "overlaps",
       [](auto& p) { value(p, kRows).offset = value(p, kIds).offset; }},
      {"methods.values.offset", "an alias elsewhere", kBad, "not at the offset",
       [](auto& p) { value(p, kRelu).offset = value(p, kRows).offset; }},
      {"methods.values.bytes", "one off", kBad, "25 bytes, but f32[2,3] takes 24",
       [](auto& p) { value(p, kX).bytes += 1; }},
      {"methods.values.bytes", "huge", kBad, "bytes, but",
       [](auto& p) { value(p, kX).bytes = UINT64_MAX; }},
      {"methods.values.alias_of", "itself", kBad, "alias_of 5 is not an earlier value",
       [](auto& p) { value(p, kRelu).alias_of = kRelu; }},
      {"methods.values.alias_of", "negative", kBad, "alias_of -7",
       [](auto& p) { value(p, kRelu).alias_of = -7; }},
      {"methods.values.alias_of", "of an input value", kBad, "cannot be an alias",
       [](auto& p) { value(p, kIds).alias_of = kX; }},
      {"methods.values.alias_of", "a constant", kBad, "value 2 is not in the arena",
       [](auto& p) { value(p, kSum).alias_of = kW; }},
      {"methods.values.alias_of", "not an operand", kBad, "cannot write over value 3",
       [](auto& p) {
         value(p, kRelu).alias_of = kRows;
         value(p, kRelu).offset = value(p, kRows).offset;
       }},
      {"methods.values.alias_of", "op without in-place", kBad, "cannot write over value 6",
       [](auto& p) {
         value(p, kTwice).alias_of = kFlat;
         value(p, kTwice).offset = value(p, kFlat).offset;
       }},
      {"methods.values.alias_of", "over an input", kBad, "write over an input",
       [](auto& p) {
         node(p, kSumNode).inputs = {kX, kW};
         value(p, kSum).alias_of = kX;
         value(p, kSum).offset = value(p, kRelu).offset = value(p, kFlat).offset =
             value(p, kX).offset;
       }},
      {"methods.values.alias_of", "over a value used later", kBad, "which is used later",
       [](auto& p) {
         node(p, kTotalNode).inputs = {kFlat, kTwice};
         method(p).outputs[3]->value = kRelu;
         method(p).samples.clear();
         value(p, kTotal).alias_of = kFlat;
         value(p, kTotal).offset = value(p, kFlat).offset;
       }},
      {"methods.values.alias_of", "unsaid", kBad, "overlaps",
       [](auto& p) { value(p, kRelu).alias_of = -1; }},
      {"methods.values.quantization", "present", kNo, "quantized values",
       [](auto& p) { quantize_ids(p); }},
      {"methods.values.quantization", "of a float", kBad, "quantized, but of dtype f32",
       [](auto& p) {
         quantize_ids(p);
         value(p, kX).quantization = std::move(value(p, kIds).quantization);
       }},
      {"methods.values.quantization.scales", "too few", kBad,
       "1 scales and 2 zero points for 2 channels",
       [](auto& p) { quantize_ids(p).scales.pop_back(); }},
      {"methods.values.quantization.scales", "not a number", kBad, "scale 1 is not positive",
       [nan](auto& p) { quantize_ids(p).scales[1] = nan; }},
      {"methods.values.quantization.scales", "zero", kBad, "scale 0",
       [](auto& p) { quantize_ids(p).scales[0] = 0; }},
      {"methods.values.quantization.zero_points", "too many", kBad, "3 zero points",
       [](auto& p) { quantize_ids(p).zero_points.push_back(0); }},
      {"methods.values.quantization.axis", "past the rank", kBad, "axis 1 of 1 dims",
       [](auto& p) { quantize_ids(p).axis = 1; }},
      {"methods.values.quantization.axis", "below -1", kBad, "axis -2",
       [](auto& p) { quantize_ids(p).axis = -2; }},
      {"methods.values.quantization.axis", "per tensor", kBad, "for 1 channels",
       [](auto& p) { quantize_ids(p).axis = -1; }},

      {"methods.nodes", "one dropped", kBad, "value 8 is not made yet|no node makes it",
       [](auto& p) { method(p).nodes.pop_back(); }},
      {"methods.nodes", "swapped", kBad, "value 4 is not made yet",
       [](auto& p) { std::swap(method(p).nodes[kSumNode], method(p).nodes[kReluNode]); }},
      {"methods.nodes", "twice the same", kBad, "value 3 is already made by node 0",
       [](auto& p) {
         method(p).nodes.insert(method(p).nodes.begin(), std::make_unique<fb::NodeT>(node(p, 0)));
       }},
      {"methods.nodes.op_type", "none", kBad, "it has no operator",
       [](auto& p) { node(p, kSumNode).op.Reset(); }},
      {"methods.nodes.op", "not in this build", kNo,
       "operator Softmax is not built into this runtime",
       [](auto& p) { node(p, kReluNode).op.Set(fb::SoftmaxT()); }},
      {"methods.nodes.op", "unknown custom operator", kNo,
       "custom operator 'test.thrice' version 1",
       [](auto& p) { node(p, kTwiceNode).op.AsCustomOp()->name = "test.thrice"; }},
      {"methods.nodes.op", "custom operator of another version", kNo, "'test.twice' version 2",
       [](auto& p) { node(p, kTwiceNode).op.AsCustomOp()->version = 2; }},
      {"methods.nodes.op", "custom operator without a name", kNo, "custom operator ''",
       [](auto& p) { node(p, kTwiceNode).op.AsCustomOp()->name = ""; }},
      {"methods.nodes.op", "custom operator with two outputs", kBad,
       "custom operator has 2 outputs",
       [](auto& p) { node(p, kTwiceNode).op.AsCustomOp()->outputs = 2; }},
      {"methods.nodes.op", "attributes that do not fit", kBad,
       "method 'forward', node 3 (reshape): [2,3] does not fit into [7]",
       [](auto& p) { node(p, kFlatNode).op.AsReshape()->shape = {7}; }},
      {"methods.nodes.inputs", "too few", kBad,
       "node 1 (binary): 1 inputs, the operator takes 2 to 2",
       [](auto& p) { node(p, kSumNode).inputs.pop_back(); }},
      {"methods.nodes.inputs", "too many", kBad, "3 inputs",
       [](auto& p) { node(p, kSumNode).inputs.push_back(0); }},
      {"methods.nodes.inputs", "no such value", kBad,
       "method 'forward', node 2 (unary from model.py:33): input 0: there is no value 99, the "
       "method has 9",
       [](auto& p) { node(p, kReluNode).inputs[0] = 99; }},
      {"methods.nodes.inputs", "negative", kBad, "there is no value -2",
       [](auto& p) { node(p, kReluNode).inputs[0] = -2; }},
      {"methods.nodes.inputs", "absent", kBad, "input 1: it is missing",
       [](auto& p) { node(p, kSumNode).inputs[1] = -1; }},
      {"methods.nodes.inputs", "its own output", kBad, "value 4 is not made yet",
       [](auto& p) { node(p, kSumNode).inputs[0] = kSum; }},
      {"methods.nodes.outputs", "none", kBad, "0 outputs, the operator has 1",
       [](auto& p) { node(p, kSumNode).outputs.clear(); }},
      {"methods.nodes.outputs", "no such value", kBad, "output 0: there is no value -1",
       [](auto& p) { node(p, kSumNode).outputs[0] = -1; }},
      {"methods.nodes.outputs", "an input", kBad, "value 0 is an Input, no node makes it",
       [](auto& p) { node(p, kSumNode).outputs[0] = kX; }},
      {"methods.nodes.source", "past the end", kBad, "there is no source 2",
       [](auto& p) { node(p, kSumNode).source = 2; }},
      {"methods.nodes.source", "below -1", kBad, "there is no source -2",
       [](auto& p) { node(p, kSumNode).source = -2; }},
      {"methods.sources", "dropped", kBad, "there is no source 0",
       [](auto& p) { method(p).sources.clear(); }},

      {"methods.inputs", "one dropped", kBad, "value 1 ('ids') is of kind Input, but not one",
       [](auto& p) { method(p).inputs.pop_back(); }},
      {"methods.inputs.name", "missing", kBad, "name",
       [](auto& p) { method(p).inputs[0]->name = ""; }},
      {"methods.inputs.name", "twice", kBad, "two inputs have the name 'x'",
       [](auto& p) { method(p).inputs[1]->name = "x"; }},
      {"methods.inputs.value", "no such value", kBad, "input 'x': there is no value 9",
       [](auto& p) { method(p).inputs[0]->value = 9; }},
      {"methods.inputs.value", "negative", kBad, "there is no value -1",
       [](auto& p) { method(p).inputs[0]->value = -1; }},
      {"methods.inputs.value", "bound twice", kBad, "input 'ids': value 0 is bound twice",
       [](auto& p) { method(p).inputs[1]->value = 0; }},
      {"methods.outputs", "fewer than the samples'", kBad, "sample 0: 4 outputs, the method has 3",
       [](auto& p) { method(p).outputs.pop_back(); }},
      {"methods.outputs.name", "missing", kBad, "name",
       [](auto& p) { method(p).outputs[0]->name = ""; }},
      {"methods.outputs.name", "a literal's", kBad, "two outputs have the name 'count'",
       [](auto& p) { method(p).outputs[0]->name = "count"; }},
      {"methods.outputs.value", "no such value", kBad, "output 'total': there is no value -1",
       [](auto& p) { method(p).outputs[0]->value = -1; }},

      {"methods.literals", "same place twice", kBad, "position 2 is taken",
       [](auto& p) {
         method(p).literals.push_back(std::make_unique<fb::LiteralT>(*method(p).literals[0]));
         method(p).literals[1]->name = "more";
       }},
      {"methods.literals.name", "missing", kBad, "name",
       [](auto& p) { method(p).literals[0]->name = ""; }},
      {"methods.literals.position", "past the results", kBad, "position 5, there are 5 results",
       [](auto& p) { method(p).literals[0]->position = 5; }},
      {"methods.literals.dtype", "none", kBad, "unknown dtype 0",
       [](auto& p) { method(p).literals[0]->dtype = fb::DType::None; }},
      {"methods.literals.dtype", "unknown", kBad, "unknown dtype 99",
       [](auto& p) { method(p).literals[0]->dtype = fb::DType(99); }},

      {"methods.arena_bytes", "too small", kBad, "outside of the arena",
       [](auto& p) { method(p).arena_bytes -= 64; }},
      {"methods.arena_bytes", "2^60", Error::kOutOfMemory,
       "memory_limit is 4294967296|memory_limit is 1073741823",
       [](auto& p) { method(p).arena_bytes = uint64_t{1} << 60; }},
      {"methods.arena_bytes", "all ones", Error::kOutOfMemory, "memory_limit",
       [](auto& p) { method(p).arena_bytes = UINT64_MAX; }},

      {"methods.samples", "an empty one", kBad, "sample 1: 0 inputs, the method has 2",
       [](auto& p) { method(p).samples.push_back(std::make_unique<fb::SampleT>()); }},
      {"methods.samples.inputs", "one dropped", kBad, "1 inputs",
       [](auto& p) { sample(p).inputs.pop_back(); }},
      {"methods.samples.inputs.dtype", "other", kBad,
       "input: 'x': its dtype or shape is not the value's f32[2,3]",
       [](auto& p) { sample(p).inputs[0]->dtype = fb::DType::Int32; }},
      {"methods.samples.inputs.shape", "other", kBad, "is not the value's",
       [](auto& p) {
         sample(p).inputs[0]->shape = {3, 2};
       }},
      {"methods.samples.inputs.shape", "rank 9", kBad, "is not the value's",
       [](auto& p) { sample(p).inputs[0]->shape.assign(9, 1); }},
      {"methods.samples.inputs.offset", "odd", kBad, "not aligned",
       [](auto& p) { sample(p).inputs[0]->offset = 8; }},
      {"methods.samples.inputs.offset", "huge", kBad, "outside of the samples",
       [](auto& p) { sample(p).inputs[0]->offset = UINT64_MAX - 63; }},
      {"methods.samples.inputs.bytes", "one off", kBad, "23 bytes instead of 24",
       [](auto& p) { sample(p).inputs[0]->bytes -= 1; }},
      {"methods.samples.outputs", "one dropped", kBad, "3 outputs",
       [](auto& p) { sample(p).outputs.pop_back(); }},
      {"methods.samples.outputs.dtype", "other", kBad, "output: 'total'",
       [](auto& p) { sample(p).outputs[0]->dtype = fb::DType::Int32; }},
      {"methods.samples.outputs.shape", "other", kBad, "output: 'total'",
       [](auto& p) {
         sample(p).outputs[0]->shape = {2, 3};
       }},
      {"methods.samples.outputs.offset", "past the end", kBad, "outside of the samples",
       [](auto& p) { sample(p).outputs[3]->offset += 64; }},
      {"methods.samples.outputs.bytes", "one off", kBad, "25 bytes instead of 24",
       [](auto& p) { sample(p).outputs[0]->bytes += 1; }},
      {"methods.samples.absolute", "not a number", kBad, "tolerance",
       [nan](auto& p) { sample(p).absolute = nan; }},
      {"methods.samples.absolute", "negative", kBad, "tolerance",
       [](auto& p) { sample(p).absolute = -1; }},
      {"methods.samples.relative", "infinite", kBad, "tolerance",
       [](auto& p) { sample(p).relative = INFINITY; }},

      {"methods.guards", "of no value", kBad, "guard 0: value 0 is not a scalar",
       [](auto& p) { method(p).guards.push_back(std::make_unique<fb::GuardT>()); }},
      {"methods.guards.kind", "unknown", kNo, "guard 0: its kind 9 is newer",
       [](auto& p) { add_guard(p).kind = fb::GuardKind(9); }},
      {"methods.guards.seen_integer", "truth of 2", kBad, "2 seen of a bool",
       [](auto& p) {
         add_guard(p).kind = fb::GuardKind::Truth;
         method(p).guards[0]->seen_integer = 2;
       }},
      {"methods.guards.seen_integer", "beyond the dtype", kBad, "256 seen of a u8",
       [](auto& p) {
         add_guard(p).seen_integer = 256;
         value(p, method(p).guards[0]->value).dtype = fb::DType::UInt8;
         value(p, method(p).guards[0]->value).bytes = 1;
       }},
      {"methods.guards.seen_integer", "of a real number", kBad, "an integer seen of a f32",
       [](auto& p) { add_real_guard(p).seen_integer = 1; }},
      {"methods.guards.seen_real", "of an integer", kBad, "a real number seen where none counts",
       [](auto& p) { add_guard(p).seen_real = 0.5; }},
      {"methods.guards.seen_real", "of a truth", kBad, "a real number seen where none counts",
       [](auto& p) {
         add_real_guard(p).kind = fb::GuardKind::Truth;
         method(p).guards[0]->seen_real = 1;
       }},
      {"methods.guards.tolerance", "of an integer", kBad, "a real number seen where none counts",
       [](auto& p) { add_guard(p).tolerance = 0.5; }},
      {"methods.guards.tolerance", "negative", kBad, "tolerance",
       [](auto& p) { add_real_guard(p).tolerance = -1; }},
      {"methods.guards.tolerance", "not a number", kBad, "tolerance",
       [nan](auto& p) { add_real_guard(p).tolerance = static_cast<double>(nan); }},
      {"methods.guards.tolerance", "infinite", kBad, "tolerance",
       [](auto& p) { add_real_guard(p).tolerance = INFINITY; }},
      {"methods.guards.value", "no such value", kBad, "there is no value 77",
       [](auto& p) { add_guard(p).value = 77; }},
      {"methods.guards.value", "not a scalar", kBad, "value 0 is not a scalar",
       [](auto& p) { add_guard(p).value = kX; }},
      {"methods.guards.source", "past the end", kBad, "guard 0: there is no source 2",
       [](auto& p) { add_guard(p).source = 2; }},
      {"methods.variants", "broken inside", kBad, "variant 1 of method 'forward'",
       [](auto& p) { add_variant(p).nodes.clear(); }},
      {"methods.variants", "256", kBad, "256 variants are more than 255",
       [](auto& p) {
         for (int i = 0; i < 256; ++i) add_variant(p);
       }},
      {"methods.variants", "fewer inputs", kBad,
       "variant 1 of method 'forward': 2 inputs, the "
       "method has 3",
       [](auto& p) {
         add_variant(p);
         add_guard(p);
       }},
      {"methods.variants", "another input name", kBad,
       "input 1 is 'numbers', the method's is 'ids'",
       [](auto& p) { add_variant(p).inputs[1]->name = "numbers"; }},
      {"methods.variants", "fewer outputs", kBad, "3 outputs, the method has 4",
       [](auto& p) {
         add_variant(p).outputs.pop_back();
         method(p).variants[0]->samples.clear();
       }},
      {"methods.variants", "another output dtype", kBad,
       "output 'again' is i64, the method's is f32",
       [](auto& p) {
         add_variant(p).outputs[3]->value = kIds;
         method(p).variants[0]->samples.clear();
       }},
      {"methods.variants", "fewer literals", kBad, "0 literals, the method has 1",
       [](auto& p) { add_variant(p).literals.clear(); }},
      {"methods.variants", "a literal elsewhere", kBad, "literal 'count' differs from the method's",
       [](auto& p) { add_variant(p).literals[0]->position = 1; }},
      {"methods.variants", "a state more", kBad, "1 states, the method has 0",
       [](auto& p) { add_state(add_variant(p)); }},
      {"methods.variants", "a state of another name", kBad,
       "state 0 is 'total', the method's is 'count'",
       [](auto& p) {
         add_state(p);
         add_state(add_variant(p)).name = "total";
       }},
      {"methods.variants", "a state of another first content", kBad,
       "state 'count' differs from the method's",
       [](auto& p) {
         add_state(p);
         add_state(add_variant(p)).initial = -1;
       }},
      {"methods.variants", "a state of another type", kBad,
       "state 'count' differs from the method's",
       [](auto& p) {
         add_state(p);
         const int id = add_state(add_variant(p)).value;
         fb::MethodT& m = *method(p).variants[0];
         m.values[static_cast<size_t>(id)]->shape = {6};
         m.states[0]->initial = -1;
         m.states[0]->next = id;
       }},
      {"methods.variants", "arena over the limit", Error::kOutOfMemory, "memory_limit",
       [](auto& p) { add_variant(p).arena_bytes = uint64_t{1} << 60; }},

      {"methods.states", "two of one name", kBad, "two states have the name 'count'",
       [](auto& p) {
         add_state(p);
         add_state(p);
       }},
      {"methods.states", "2^60 bytes of zeros", Error::kOutOfMemory,
       "memory_limit is 4294967296|memory_limit is 1073741823",
       [](auto& p) {
         fb::StateT& s = add_state(p);
         s.initial = -1;
         s.next = s.value;
         value(p, s.value).shape = {int64_t{1} << 58};
         value(p, s.value).bytes = uint64_t{1} << 60;
       }},
      {"methods.states", "many of 2^60 bytes", Error::kOutOfMemory, "memory_limit",
       [](auto& p) {
         for (int i = 0; i < 40; ++i) {
           fb::StateT& s = add_state(p);
           s.name += std::to_string(i);
           s.initial = -1;
           s.next = s.value;
           value(p, s.value).shape = {int64_t{1} << 58};
           value(p, s.value).bytes = uint64_t{1} << 60;
         }
       }},
      {"methods.states.name", "missing", kBad, "name", [](auto& p) { add_state(p).name = ""; }},
      {"methods.states.value", "no such value", kBad, "state 0 ('count'): there is no value 99",
       [](auto& p) { add_state(p).value = 99; }},
      {"methods.states.value", "not a state", kBad, "value 0 is not of kind State",
       [](auto& p) { add_state(p).value = kX; }},
      {"methods.states.value", "of two states", kBad, "value 9 belongs to two states",
       [](auto& p) {
         const int id = add_state(p).value;
         add_state(p).value = id;
       }},
      {"methods.states.initial", "no such value", kBad, "there is no value -2",
       [](auto& p) { add_state(p).initial = -2; }},
      {"methods.states.initial", "not a constant", kBad, "initial is value 0, which is no Constant",
       [](auto& p) { add_state(p).initial = kX; }},
      {"methods.states.initial", "of another type", kBad,
       "initial does not have its dtype and shape",
       [](auto& p) {
         fb::StateT& s = add_state(p);
         s.next = s.value;
         value(p, s.value).shape = {3, 2};
       }},
      {"methods.states.next", "no such value", kBad, "there is no value -1",
       [](auto& p) { add_state(p).next = -1; }},
      {"methods.states.next", "of another type", kBad,
       "next does not have its dtype and shape f32[2,3]",
       [](auto& p) { add_state(p).next = kIds; }},
      {"methods.states.next", "another state", kBad, "next is value 9, another state",
       [](auto& p) {
         const int id = add_state(p).value;
         fb::StateT& s = add_state(p);
         s.name = "other";
         s.next = id;
       }},
      {"methods.states.next", "overwritten before the end", kBad, "which is used later|overlaps",
       [](auto& p) { add_state(p).next = kSum; }},
      {"methods.variants", "nested", kBad, "has variants of its own",
       [](auto& p) {
         method(p).variants.push_back(tiny_method());
         method(p).variants[0]->variants.push_back(tiny_method());
       }},
  };
}

bool matches(const std::string& text, const std::string& alternatives) {
  size_t begin = 0;
  for (size_t end = 0; end != std::string::npos; begin = end + 1) {
    end = alternatives.find('|', begin);
    if (text.find(alternatives.substr(begin, end - begin)) != std::string::npos) return true;
  }
  return false;
}

TEST(Verifier, EachBrokenFieldIsRefusedByName) {
  for (const Break& b : breaks()) {
    SCOPED_TRACE(std::string(b.field) + ": " + b.what);
    BundleParts parts = test::tiny_bundle();
    b.apply(parts);
    const Status status = load(parts);
    EXPECT_EQ(status.error(), b.error) << status.message();
    EXPECT_TRUE(matches(status.message(), b.message)) << status.message();
  }
}

/// Fields that no value breaks: they are text, hints, or numbers that only the user's program
/// understands.
/// As strings, vectors and tables they are covered by EveryOffsetOfTheFlatBufferIsChecked.
const std::set<std::string> kFree = {"producer",
                                     "info",
                                     "info.key",
                                     "info.value",
                                     "methods.guards.check",
                                     "methods.reserved_bytes",
                                     "methods.values.name",
                                     "methods.sources.aten",
                                     "methods.sources.module_path",
                                     "methods.sources.file",
                                     "methods.sources.line",
                                     "methods.literals.integer",
                                     "methods.literals.real",
                                     "methods.guards.text"};

TEST(Verifier, EveryFieldOfTheSchemaHasABreakingTest) {
  std::set<std::string> broken = kFree;
  for (const Break& b : breaks()) broken.insert(b.field);
  for (const std::string& path : test::field_paths(fb::BundleTypeTable())) {
    EXPECT_TRUE(broken.count(path) == 1) << path << " has no line in breaks()";
    broken.erase(path);
  }
  EXPECT_THAT(broken, testing::IsEmpty()) << "paths that the schema does not have";
}

TEST(Verifier, FreeFieldsMayHoldAnything) {
  BundleParts parts = test::tiny_bundle();
  parts.bundle.producer = "\xff\xfe";
  parts.bundle.info.clear();
  method(parts).values[0]->name = "";
  method(parts).sources[0]->line = -1;
  method(parts).literals[0]->integer = INT64_MIN;
  method(parts).reserved_bytes = UINT64_MAX;
  EXPECT_TRUE(load(parts).ok());
}

}  // namespace
}  // namespace lazyrt
