#version 450
// Transposed convolution as products of matrices, one for each position of y within the stride: there each kernel_step-th
// tap meets x, and from tap to tap the pixel that it meets moves back.
#include "kernels/conv/conv_operands.glsl"
#include "kernels/conv/conv_gather.glsl"

uvec2 phase;        ///< of y's pixels (h, w) + padding, within the stride
uvec2 phase_size;   ///< pixels of y that have it
uvec2 first_pixel;  ///< of them
uvec2 first_tap, taps;

/// Finds the taps that meet x at pixels of this phase: the first, and how many there are.
void find_taps(uint phase, uint stride, uint dilation, uint kernel, uint step, out uint first, out uint count) {
  for (first = 0u; first < min(step, kernel); ++first) {
    if (first * dilation % stride == phase) break;
  }
  count = first < min(step, kernel) ? (kernel - first + step - 1u) / step : 0u;
}

void begin_phase(uint i) {
  const uvec2 stride = uvec2(push.stride_h, push.stride_w), size = uvec2(push.out_height, push.out_width);
  const uint phases_across = min(stride.y, size.y);
  first_pixel = uvec2(i / phases_across, i % phases_across);
  phase_size = (size - first_pixel + stride - 1u) / stride;
  phase = uvec2(first_pixel.x + uint(push.pad_top), first_pixel.y + uint(push.pad_left)) % stride;
  find_taps(phase.x, stride.x, push.dilation_h, push.kernel_height, push.kernel_step_h, first_tap.x, taps.x);
  find_taps(phase.y, stride.y, push.dilation_w, push.kernel_width, push.kernel_step_w, first_tap.y, taps.y);
}

/// The pixel of y of this row.
uvec2 pixel_of(uint row) {
  return first_pixel + uvec2(row / phase_size.y % phase_size.x * push.stride_h, row % phase_size.y * push.stride_w);
}
uint image_of(uint row) { return row / (phase_size.x * phase_size.y); }

/// The pixel of x that the first tap meets; may be outside.
int source(uint at, uint pad, uint tap, uint dilation, uint stride) {
  return (int(at + pad) - int(tap * dilation)) / int(stride);  // without remainder
}

void begin_row(uint slot, uint row) {
  const uvec2 at = pixel_of(row);
  images[slot] = image_of(row) < push.images ? image_of(row) : kNone;
  firsts[slot] = ivec2(source(at.x, uint(push.pad_top), first_tap.x, push.dilation_h, push.stride_h),
                       source(at.y, uint(push.pad_left), first_tap.y, push.dilation_w, push.stride_w));
}

vec4 load_b(uint k, uint column) {
  if (k >= own_depth) return vec4(0.0);
  const uint tap = k / push.group_channels, c = k % push.group_channels;
  const uint h = first_tap.x + tap / taps.y * push.kernel_step_h, w = first_tap.y + tap % taps.y * push.kernel_step_w;
  return b_quad((h * push.kernel_width + w) * push.group_channels + c, column);
}

void store_quad(uint row, uint column, vec4 v) {
  if (image_of(row) >= push.images) return;
  const uvec2 at = pixel_of(row);
  store_at(row, (image_of(row) * push.out_height + at.x) * push.out_width + at.y, column, v);
}

#include "gemm.glsl"

void main() {
  const uvec3 tile = own_tile();
  const uint product = tile.x;
  const uint phases = min(push.stride_h, push.out_height) * min(push.stride_w, push.out_width);
  if (product >= push.groups * phases) return;
  begin_group(product / phases, 0u);
  begin_phase(product % phases);
  taps_across = max(taps.y, 1u);
  tap_step = -ivec2(push.kernel_step_h * push.dilation_h / push.stride_h, push.kernel_step_w * push.dilation_w / push.stride_w);
  own_depth = taps.x * taps.y * push.group_channels;
  multiply_tile(tile.y, tile.z, uvec2(0u, own_depth), has(kByDepth));
}
