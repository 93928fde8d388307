// Integers of 64 bits as uvec2, the low word first.

uvec2 add64(uvec2 a, uvec2 b) {
  uint carry;
  const uint low = uaddCarry(a.x, b.x, carry);
  return uvec2(low, a.y + b.y + carry);
}
uvec2 negative64(uvec2 a) { return add64(~a, uvec2(1u, 0u)); }
uvec2 sub64(uvec2 a, uvec2 b) { return add64(a, negative64(b)); }
uvec2 mul64(uvec2 a, uvec2 b) {
  uint high, low;
  umulExtended(a.x, b.x, high, low);
  return uvec2(low, high + a.x * b.y + a.y * b.x);
}
bool is_negative64(uvec2 a) { return (a.y >> 31) != 0u; }
bool less_unsigned64(uvec2 a, uvec2 b) { return a.y != b.y ? a.y < b.y : a.x < b.x; }
bool less64(uvec2 a, uvec2 b) { return a.y != b.y ? int(a.y) < int(b.y) : a.x < b.x; }
uvec2 from_int64(int x) { return uvec2(uint(x), x < 0 ? 0xffffffffu : 0u); }
uvec2 absolute64(uvec2 a) { return is_negative64(a) ? negative64(a) : a; }

/// By 0 to 63 places.
uvec2 shift_left64(uvec2 a, uint n) {
  if (n == 0u) return a;
  if (n >= 32u) return uvec2(0u, a.x << (n - 32u));
  return uvec2(a.x << n, a.y << n | a.x >> (32u - n));
}
uvec2 shift_right64(uvec2 a, uint n) {  // the sign stays
  const int high = int(a.y);
  if (n == 0u) return a;
  if (n >= 32u) return uvec2(uint(high >> (n - 32u)), uint(high >> 31));
  return uvec2(a.x >> n | a.y << (32u - n), uint(high >> n));
}

/// Of unsigned numbers; rest gets the remainder. REQUIRES: b != 0.
uvec2 divide_unsigned64(uvec2 a, uvec2 b, out uvec2 rest) {
  uvec2 quotient = uvec2(0u);
  rest = uvec2(0u);
  for (int i = 63; i >= 0; --i) {
    const bool carries = is_negative64(rest);
    rest = shift_left64(rest, 1u);
    rest.x |= (i >= 32 ? a.y >> (i - 32) : a.x >> i) & 1u;
    if (carries || !less_unsigned64(rest, b)) {
      rest = sub64(rest, b);
      if (i >= 32) quotient.y |= 1u << (i - 32); else quotient.x |= 1u << i;
    }
  }
  return quotient;
}
/// Towards zero. REQUIRES: b != 0.
uvec2 divide64(uvec2 a, uvec2 b) {
  uvec2 rest;
  const uvec2 quotient = divide_unsigned64(absolute64(a), absolute64(b), rest);
  return is_negative64(a) != is_negative64(b) ? negative64(quotient) : quotient;
}
/// With the sign of a. REQUIRES: b != 0.
uvec2 remainder64(uvec2 a, uvec2 b) {
  uvec2 rest;
  divide_unsigned64(absolute64(a), absolute64(b), rest);
  return is_negative64(a) ? negative64(rest) : rest;
}

/// The nearest float.
float to_float64(uvec2 a) {
  const bool negative = is_negative64(a);
  uvec2 m = absolute64(a);
  if (m.y == 0u) return negative ? -float(m.x) : float(m.x);
  const int up = 31 - findMSB(m.y);  // so that the highest bit is bit 63
  m = shift_left64(m, uint(up));
  const uint high = m.y | (m.x != 0u ? 1u : 0u);  // what is cut off only breaks ties
  const float y = float(high) * uintBitsToFloat(uint(127 + 32 - up) << 23);
  return negative ? -y : y;
}
/// Truncated, saturated, NaN is 0.
uvec2 from_float64(float x) {
  const uint bits = floatBitsToUint(x);
  const int exponent = int(bits >> 23 & 255u) - 127;
  if (exponent < 0 || (bits & 0x7fffffffu) > 0x7f800000u) return uvec2(0u);
  const bool negative = (bits >> 31) != 0u;
  if (exponent >= 63) return negative ? uvec2(0u, 0x80000000u) : uvec2(0xffffffffu, 0x7fffffffu);
  const uvec2 m = uvec2((bits & 0x007fffffu) | 0x00800000u, 0u);
  uvec2 y;
  if (exponent >= 23) y = shift_left64(m, uint(exponent - 23));
  else y = uvec2(m.x >> (23 - exponent), 0u);
  return negative ? negative64(y) : y;
}
