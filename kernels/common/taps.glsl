// Positions of one dim of an image that make up one position of the result, with their weights.
struct Taps {
  int count;
  int index[4];
  float weight[4];
};
/// The first position alone.
Taps one_tap() { return Taps(1, int[4](0, 0, 0, 0), float[4](1.0, 0.0, 0.0, 0.0)); }

/// Keys' cubic kernel with a = -0.75 at distance d.
float cubic(float d) {
  const float a = -0.75;
  if (d <= 1.0) return ((a + 2.0) * d - (a + 3.0)) * d * d + 1.0;
  return ((a * d - 5.0 * a) * d + 8.0 * a) * d - 4.0 * a;
}
