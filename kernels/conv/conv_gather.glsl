// The left side of convolutions as products of matrices: a row is what the taps of a pixel meet in x, and is never
// stored. For gemm.glsl; include it behind conv_operands.glsl.

// Set before multiply_tile.
uint first_channel;  ///< of the group
uint taps_across;    ///< in a row of taps
ivec2 tap_step;      ///< (h, w) from a tap to the next
uint own_depth;      ///< taps times channels of the group

// Of the rows of this invocation's slots: their images, or kNone, and the pixels that the first tap meets.
const uint kNone = 0xffffffffu;
uint images[4];
ivec2 firsts[4];
// Of this invocation's place in the depth.
uint channel, tap_column;
ivec2 tap_offset;

void begin_step(uint k) {
  const uint tap = k / push.group_channels;
  channel = k % push.group_channels;
  tap_column = tap % taps_across;
  tap_offset = ivec2(tap / taps_across, tap_column) * tap_step;
}

vec4 load_a(uint slot, uint row, uint k) {
  if (images[slot] == kNone || k >= own_depth) return vec4(0.0);
  ivec2 at = firsts[slot] + tap_offset;
  if (has(kQuadsA)) {  // four channels of one tap
    if (!is_inside(at.x, at.y)) return vec4(0.0);
    return a4[pixel_at(images[slot], at.x, at.y, first_channel + channel) / 4u];
  }
  vec4 v = vec4(0.0);
  uint c = channel, column = tap_column;
  for (uint i = 0u; i < 4u && k + i < own_depth; ++i) {
    if (is_inside(at.x, at.y)) v[i] = a1[pixel_at(images[slot], at.x, at.y, first_channel + c)];
    if (++c < push.group_channels) continue;
    c = 0u;
    at.y += tap_step.y;
    if (++column < taps_across) continue;
    column = 0u;
    at = ivec2(at.x + tap_step.x, firsts[slot].y);
  }
  return v;
}

/// Sets where the matrices of this group and part of the depth begin; bias and y begin with the group's channels.
void begin_group(uint group, uint split) {
  first_channel = group * push.group_channels;
  const uint b_size = has(kByDepth) ? push.columns * push.depth : push.depth * push.b_pitch;
  begin_matrices(0u, group * b_size, group * push.columns, split * push.rows * push.y_pitch + group * push.columns);
}
