// Shaders that fold rows: each row by some of the 128 invocations of a workgroup, its lanes, in an order that does not
// change. Include it behind a push block with the members of RowForm (kernels/common/row_vk.h):
//
//   uint rows, lanes_log2, columns;
//
// Elements of a row are dealt out in turn: element e belongs to lane e % lanes. Where rows are runs of memory, the lanes
// of a row are neighbours; else (columns) the same lane of neighbouring rows is.

layout(local_size_x = 128) in;

uint lanes() { return 1u << push.lanes_log2; }
uint group_rows() { return 128u >> push.lanes_log2; }
uint lane() {
  return push.columns != 0u ? gl_LocalInvocationIndex / group_rows() : gl_LocalInvocationIndex % lanes();
}
/// The row of this invocation; may be beyond the last one.
uint row_index() {
  const uint group = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x, t = gl_LocalInvocationIndex;
  return group * group_rows() + (push.columns != 0u ? t % group_rows() : t >> push.lanes_log2);
}

// FOLD(T, name, form): T name(T value) is the fold of the values of all lanes of the row by form(a, b), in each of them.
// All invocations of the workgroup call it.
#define FOLD(T, name, form)                                               \
  shared T name##_parts[128];                                             \
  T name(T value) {                                                       \
    const uint t = gl_LocalInvocationIndex, step = push.columns != 0u ? group_rows() : 1u; \
    barrier();                                                            \
    name##_parts[t] = value;                                              \
    for (uint n = lanes() / 2u; n != 0u; n /= 2u) {                       \
      barrier();                                                          \
      if (lane() < n) {                                                   \
        const T a = name##_parts[t], b = name##_parts[t + n * step];      \
        name##_parts[t] = form;                                           \
      }                                                                   \
    }                                                                     \
    barrier();                                                            \
    return name##_parts[t - lane() * step];                               \
  }
