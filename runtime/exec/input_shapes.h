#pragma once

// Which shapes the inputs of a method with symbols may have, and which values of the symbols follow
// from them. The method is the file's.

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

/// Finds the only shape of input i that has this many bytes, if one dim of it may be chosen.
/// kInvalidArgument: there is none, or several dims may be chosen.
Fault find_input_shape(const fb::Method& method, size_t i, size_t bytes, Shape* shape);

/// Finds the values of the symbols when inputs have these shapes. kInvalidArgument: "input 'mask'
/// dim 1 is 7, 'seq' is 5 by input 'ids'", or as check_sizes. REQUIRES: check_input_shape was ok
/// for each; room for all symbols.
Fault resolve_symbols(const fb::Method& method, Span<const Shape> shapes, int64_t* symbols);

}  // namespace lazyrt
