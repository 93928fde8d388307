#pragma once

// Dims that vary by what a .pt2 says of them (torch.export.Dim), and by what the caller says beside
// it. Free of LibTorch types.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "host_tracer/compile/dynamic_dims.h"
#include "host_tracer/support/outcome.h"

namespace lazyrt {

/// A dim of an input that is no number in the file.
struct Pt2Dim {
  std::string input;
  int64_t dim = 0;
  std::string expression;  ///< "s0", "32*s0 + 1", or else as the file has it
  std::string root;        ///< it is multiple * this symbol + offset; empty: something else
  int64_t multiple = 1, offset = 0;
  std::optional<int64_t> min, max;  ///< of the root
};

/// Fills root, multiple and offset from sympy's text of a size: "s0", "Mul(Integer(32), s0)",
/// "Add(Mul(Integer(2), s0), Integer(1))".
void read_expression(const std::string& text, Pt2Dim* dim);

/// The file's dims as symbols, named by their first place ("x.0") unless `given` names one of its
/// places: then it has that name, and its bounds beside the file's. Both as of places_in.
/// A symbol of which there is one multiple only is that multiple; else the symbol is the file's,
/// and its dims follow from it. kUnsupported: a size that is another function; kInvalidArgument: no
/// upper bound, bounds beyond the file's, a dim that is fixed in the file, two names for what the
/// file says is one.
Outcome<std::vector<DynamicDim>> dims_of_file(const std::vector<Pt2Dim>& file,
                                              const std::vector<DynamicDim>& given);

}  // namespace lazyrt
