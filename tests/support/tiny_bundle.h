#pragma once

#include "lazyrt/dtype.h"
#include "runtime/op/op_def.h"
#include "tests/support/bundle_writer.h"

namespace lazyrt::test {

/// Builds one method value by value; every value gets memory of its own unless it is an alias.
class MethodBuilder {
 public:
  explicit MethodBuilder(BundleParts* parts, const std::string& name = "forward");
  /// Goes on with a method that is there.
  MethodBuilder(BundleParts* parts, size_t method) : parts_(parts), index_(method) {}

  int input(const std::string& name, DType dtype, std::vector<int64_t> shape);
  int constant(const std::string& name, DType dtype, std::vector<int64_t> shape, const void* data);
  /// Begins as zeros and stays, until its `next` is set.
  int state(const std::string& name, DType dtype, const std::vector<int64_t>& shape);
  /// A node with one new value. alias_of >= 0 gives the value that memory.
  template <class TableT>
  int node(const TableT& attrs, std::vector<int> inputs, DType dtype, std::vector<int64_t> shape,
           int alias_of = -1) {
    fb::OpAttrsUnion u;
    u.Set(TableT(attrs));
    return add_node(u, inputs, dtype, shape, alias_of);
  }
  /// A node whose outputs come from the op's shape rule. Gives the first output; the others follow.
  /// Throws std::runtime_error with the rule's message.
  template <class TableT>
  int infer(const OpTable& ops, const TableT& attrs, std::vector<int> inputs) {
    fb::OpAttrsUnion u;
    u.Set(TableT(attrs));
    return infer_node(ops, u, inputs);
  }
  int infer(const OpTable& ops, const fb::OpAttrsUnion& op, std::vector<int> inputs) {
    return infer_node(ops, op, inputs);
  }
  void output(const std::string& name, int value);
  fb::MethodT& method() { return *parts_->bundle.methods[index_]; }

 private:
  int add_node(const fb::OpAttrsUnion& op, const std::vector<int>& inputs, DType dtype,
               const std::vector<int64_t>& shape, int alias_of);
  int infer_node(const OpTable& ops, const fb::OpAttrsUnion& op, const std::vector<int>& inputs);
  TensorSpec spec_of(int value);
  int add_value(const std::string& name, fb::ValueKind kind, DType dtype,
                const std::vector<int64_t>& shape);
  uint64_t place(uint64_t bytes);

  BundleParts* parts_;
  size_t index_;
};

fb::UnaryT relu();
fb::BinaryT add();
fb::ReshapeT reshape(std::vector<int64_t> shape);

/// Values of tiny_bundle by id.
namespace tiny {
enum Value : int { kX, kIds, kW, kRows, kSum, kRelu, kFlat, kTwice, kTotal };
enum Node : int { kRowsNode, kSumNode, kReluNode, kFlatNode, kTwiceNode, kTotalNode };
}  // namespace tiny

/// Inputs x f32[2,3], ids i64[2]; w f32[2,3] = 1..6.
///   rows = index_select(x, ids); sum = rows + w; relu = relu(sum) in place; flat = reshape(relu,
///   [6]), a view; twice = test.twice(flat); total = twice + flat, in place over twice
/// Outputs total, x, w, total again as "again"; literal "count" = 6 at position 2. One sample.
BundleParts tiny_bundle();
/// What x and ids of the sample are, and the total that belongs to them.
extern const float kTinyX[6];
extern const int64_t kTinyIds[2];
extern const float kTinyW[6];
extern const float kTinyTotal[6];

}  // namespace lazyrt::test
