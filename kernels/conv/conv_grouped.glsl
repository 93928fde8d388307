// What convolutions with few channels in a group share, which make four channels of y at a time. Include it behind
// conv_operands.glsl.

layout(constant_id = 0) const bool kDepthwise = false;  ///< one channel in and out of a group

/// The first channels of x that these four of y are made of.
uvec4 first_channels(uint column) {
  const uvec4 filters = uvec4(column, column + 1u, column + 2u, column + 3u);
  if (kDepthwise) return filters;
  return min(filters, uvec4(push.columns - 1u)) / (push.columns / push.groups) * push.group_channels;
}

/// x at this pixel for each of the four filters: channel c of their groups, which begin at `first`. 0 outside.
vec4 load_quad(uint image, int h, int w, uint column, uvec4 first, uint c) {
  if (!is_inside(h, w)) return vec4(0.0);
  if (kDepthwise && has(kQuadsA)) return a4[pixel_at(image, h, w, column) / 4u];
  vec4 x = vec4(a1[pixel_at(image, h, w, first.x + c)], 0.0, 0.0, 0.0);
  if (column + 1u < push.columns) x.y = a1[pixel_at(image, h, w, first.y + c)];
  if (column + 2u < push.columns) x.z = a1[pixel_at(image, h, w, first.z + c)];
  if (column + 3u < push.columns) x.w = a1[pixel_at(image, h, w, first.w + c)];
  return x;
}
