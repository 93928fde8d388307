#pragma once

// Which shapes the inputs of a method with symbols may have, and what they say of the symbols. The
// method is that of the file.

#include "lazyrt/runtime.h"
#include "runtime/bundle/program_state.h"

namespace lazyrt {

/// kInvalidArgument names input, dim, symbol and what is allowed: "input 'ids' dim 1: 'seq' is 600,
/// allowed are 1 to 512". REQUIRES: there is an input i.
Fault check_input_shape(const fb::Method& method, size_t i, const Shape& shape);
/// The same, and the dtype.
Fault check_input_tensor(const fb::Method& method, size_t i, const TensorView& tensor);

/// The shape of input i at these sizes.
Shape input_shape(const fb::Method& method, size_t i, Span<const int64_t> symbols);

/// The one shape of input i that has so many bytes, where one dim of it may be chosen.
/// kInvalidArgument: there is none, or more may be chosen.
Fault find_input_shape(const fb::Method& method, size_t i, size_t bytes, Shape* shape);

/// The values of the symbols with inputs of these shapes. kInvalidArgument: "input 'mask' dim 1 is
/// 7, 'seq' is 5 by input 'ids'", or as check_sizes. REQUIRES: check_input_shape was ok for each;
/// room for all symbols.
Fault resolve_symbols(const fb::Method& method, Span<const Shape> shapes, int64_t* symbols);

}  // namespace lazyrt
