// Rows along an axis: the push block AxisPush of row_vk.h. Include it behind operands.glsl.

PUSH
  uint rows, lanes_log2, columns;
  uint extent;
  uint inner;  ///< elements from one of a row to the next
PUSH_END

#include "row.glsl"

/// The place of a row's first element; the next one is `inner` elements behind it.
uint first_of_row(uint row) { return row / push.inner * push.extent * push.inner + row % push.inner; }
