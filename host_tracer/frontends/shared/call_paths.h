#pragma once

#include <ATen/core/ivalue.h>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace lazyrt {

/// One thing that an operator is given: a number, or text that says what else it is (of a small
/// tensor that no operator of the run made, its type, extents and bytes).
struct GivenOperand {
  std::optional<double> number;
  std::string text;
  bool is_content = false;
};

/// Operators in the order in which a program calls them, each with what it is given.
struct CallPath {
  std::vector<std::string> names;
  std::vector<GivenOperand> operands;
};

/// What `run` calls on this thread. `inputs` are no constants.
CallPath watch_calls(const std::vector<at::Tensor>& inputs, const std::function<void()>& run);

/// The paths that a program takes at some sizes. Two calls are on one path where they call the same
/// operators. Where what these are given goes with the sizes, numbers lie between those of the
/// sizes nearby, and all else is as at one of these: the rest is a path that is not known.
class CallPaths {
 public:
  /// `sizes`: the extents of all inputs.
  void learn(const std::vector<int64_t>& sizes, const CallPath& path);
  bool know(const std::vector<int64_t>& sizes, const CallPath& path) const;

 private:
  struct Seen {
    std::vector<int64_t> sizes;
    std::vector<GivenOperand> operands;
  };
  static bool expects(const std::vector<Seen>& seen, size_t place,
                      const std::vector<int64_t>& sizes, const GivenOperand& operand);

  std::map<std::vector<std::string>, std::vector<Seen>> known_;
};

}  // namespace lazyrt
