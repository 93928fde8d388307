// Push block and operands of convolutions: x [N, height, width, channels], the weights as b [depth, columns] of each
// group with depth [KH, KW, channels / groups], y [N, out_height, out_width, groups columns].

#include "operands.glsl"

PUSH
  uint rows, columns, depth;  ///< pixels of y that a product makes, channels of a group, weights of each
  uint b_pitch, y_pitch;
  uint flags;
  float low, high;
  uint splits;
  uint groups, images;
  uint height, width, channels, group_channels;
  uint out_height, out_width;
  uint kernel_height, kernel_width;
  uint stride_h, stride_w, dilation_h, dilation_w;
  int pad_top, pad_left;
  uint kernel_step_h, kernel_step_w;  ///< conv_transpose2d: from tap to tap of one position within the stride
PUSH_END

#include "gemm_operands.glsl"

/// Returns the place of this channel of x's pixel, in elements of the buffer.
uint pixel_at(uint image, int h, int w, uint channel) {
  return push.begin[0] + ((image * push.height + uint(h)) * push.width + uint(w)) * push.channels + channel;
}
bool is_inside(int h, int w) { return uint(h) < push.height && uint(w) < push.width; }
