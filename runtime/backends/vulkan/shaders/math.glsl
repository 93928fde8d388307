// Functions of float that are accurate to a few units in the last place, NaN for NaN, on every driver. Vulkan does not
// define sin and cos of large numbers, and promises exp to 3 + 2 |x| units only. Special values are recognised by their
// bits, since a driver may assume that there are none. Coefficients are Chebyshev fits (erf, sin, asin, atan, log) or Taylor's.

#define kInfinity uintBitsToFloat(0x7f800000u)
#define kNan uintBitsToFloat(0x7fc00000u)
const float kPi = 3.14159265358979;
const float kHalfPi = 1.57079632679490;

uint magnitude_bits(float x) { return floatBitsToUint(x) & 0x7fffffffu; }
bool is_nan(float x) { return magnitude_bits(x) > 0x7f800000u; }
bool is_infinite(float x) { return magnitude_bits(x) == 0x7f800000u; }
bool has_sign(float x) { return (floatBitsToUint(x) >> 31) != 0u; }
float magnitude(float x) { return uintBitsToFloat(magnitude_bits(x)); }
float with_sign_of(float x, float sign) {
  return uintBitsToFloat(magnitude_bits(x) | (floatBitsToUint(sign) & 0x80000000u));
}
/// NaN stays NaN.
float clamp_to(float x, float low, float high) { return is_nan(x) ? x : x < low ? low : x > high ? high : x; }

/// 2^n for n in [-126, 127].
float power_of_two(int n) { return uintBitsToFloat(uint(n + 127) << 23); }
/// x * 2^n for n in [-252, 254].
float scaled(float x, int n) {
  const int half_n = n >> 1;
  return x * power_of_two(half_n) * power_of_two(n - half_n);
}

/// exp(high + low), low being small beside high.
float exp_of_pair(float high, float low) {
  if (is_nan(high)) return high;
  if (high > 89.0) return kInfinity;
  if (high < -104.0) return 0.0;
  const float n = roundEven(high * 1.44269502);
  precise float r = (high - n * 0.693115234375) - n * 3.194618329871446e-05;
  r += low;
  const float p =
      0.5 + r * (0.16666667 + r * (0.041666667 + r * (0.0083333333 + r * (0.0013888889 + r * 0.00019841270))));
  return scaled(1.0 + (r + r * r * p), int(n));
}
float exp_of(float x) { return exp_of_pair(x, 0.0); }

float expm1_of(float x) {
  if (is_nan(x) || x == 0.0) return x;
  if (magnitude(x) > 0.5) return exp_of(x) - 1.0;
  const float p = 0.5 + x * (0.16666667 + x * (0.041666667 + x * (0.0083333333 + x * (0.0013888889 + x * (0.00019841270 +
                  x * (2.4801587e-05 + x * 2.7557319e-06))))));
  return x + x * x * p;
}

/// The product of a and b is x + y, by Dekker. Neither overflows.
vec2 exact_product(float a, float b) {
  precise float p = a * b;
  const float a_high = uintBitsToFloat(floatBitsToUint(a) & 0xfffff000u);
  const float b_high = uintBitsToFloat(floatBitsToUint(b) & 0xfffff000u);
  precise float a_low = a - a_high, b_low = b - b_high;
  precise float rest = ((a_high * b_high - p) + a_high * b_low + a_low * b_high) + a_low * b_low;
  return vec2(p, rest);
}
/// The sum is x + y, by Knuth.
vec2 exact_sum(float a, float b) {
  precise float s = a + b;
  precise float t = s - a;
  precise float rest = (a - (s - t)) + (b - t);
  return vec2(s, rest);
}
/// a / b, rounded correctly but where it, or the product back, leaves the normal numbers.
float divide(float a, float b) {
  precise float q = a / b;
  const uint size = magnitude_bits(q);
  if (size >= 0x7e800000u || size < 0x02000000u || magnitude_bits(a) < 0x0d000000u || magnitude_bits(b) >= 0x7e800000u) return q;
  const vec2 back = exact_product(q, b);
  precise float rest = (a - back.x) - back.y;
  precise float better = q + rest / b;
  return better;
}

/// log(x) = sum of the result, to some 40 bits. REQUIRES: x is positive and finite.
vec2 log_pair(float x) {
  int exponent = 0;
  uint bits = floatBitsToUint(x);
  if (bits < 0x00800000u) {  // its integer, scaled by 2^-149
    bits = floatBitsToUint(float(bits));
    exponent = -149;
  }
  exponent += int(bits >> 23) - 127;
  float m = uintBitsToFloat((bits & 0x007fffffu) | 0x3f800000u);
  if (m > 1.41421356) {
    m *= 0.5;
    ++exponent;
  }
  precise float above = m - 1.0;
  const vec2 below = exact_sum(m, 1.0);
  precise float s = above / below.x;
  const vec2 back = exact_product(s, below.x);
  precise float s_low = (((above - back.x) - back.y) - s * below.y) / below.x;
  const float z = s * s;
  precise float tail =
      2.0 * s_low + s * z * (0.666666666 + z * (0.40000122 + z * (0.285508075 + z * 0.233308304)));
  const float e = float(exponent);
  precise float e_high = e * 0.693115234375;
  const vec2 sum = exact_sum(e_high, 2.0 * s);
  precise float low = sum.y + (tail + e * 3.194618329871446e-05);
  return exact_sum(sum.x, low);
}
float log_of(float x) {
  if (is_nan(x) || x < 0.0) return kNan;
  if (magnitude_bits(x) == 0u) return -kInfinity;
  if (is_infinite(x)) return x;
  return log_pair(x).x;
}
/// log_of(x) times 1 / log(base), given in two parts.
float log_to(float x, float scale, float scale_low) {
  if (!(x > 0.0) || is_infinite(x)) return log_of(x);
  const vec2 l = log_pair(x);
  const vec2 product = exact_product(l.x, scale);
  precise float y = product.x + (product.y + (l.y * scale + l.x * scale_low));
  return y;
}
float log2_of(float x) { return log_to(x, 1.4426950216293335, 1.925963033500011e-08); }
float log10_of(float x) { return log_to(x, 0.4342944920063019, -1.0103049952192578e-08); }
float log1p_of(float x) {
  if (is_nan(x) || is_infinite(x)) return x > 0.0 ? x : kNan;
  precise float u = 1.0 + x;
  precise float back = u - 1.0;
  if (back == 0.0) return x;
  if (u <= 0.0) return log_of(u);
  return log_of(u) * (x / back);
}

float exp2_of(float x) {
  if (is_nan(x)) return x;
  if (x >= 128.0) return kInfinity;
  if (x < -150.0) return 0.0;
  const float n = roundEven(x);
  precise float r = (x - n) * 0.693147182;
  const float y = exp_of_pair(r, 0.0);
  return scaled(y, int(n));
}

float tanh_of(float x) {
  if (is_nan(x) || x == 0.0) return x;
  const float a = magnitude(x);
  if (a > 10.0) return with_sign_of(1.0, x);
  const float t = expm1_of(2.0 * a);
  return with_sign_of(t / (t + 2.0), x);
}
float sinh_of(float x) {
  if (is_nan(x) || x == 0.0) return x;
  const float a = magnitude(x);
  if (a > 80.0) {
    const float e = exp_of(0.5 * a);
    return with_sign_of(0.5 * e * e, x);
  }
  const float t = expm1_of(a);
  return with_sign_of(0.5 * (t + t / (t + 1.0)), x);
}
float cosh_of(float x) {
  const float a = magnitude(x);
  if (is_nan(x)) return x;
  const float e = exp_of(a > 80.0 ? 0.5 * a : a);
  return a > 80.0 ? 0.5 * e * e : 0.5 * (e + 1.0 / e);
}

// Sine and cosine: x = quadrant * pi / 2 + r, |r| <= pi / 4.

const uint kTwoOverPi[9] = uint[9](0u, 0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u, 0xdb629599u, 0x3c439041u,
                                   0xfe5163abu, 0xdebbc561u);

/// Of a finite number >= 2^13, by Payne and Hanek: the bits of 2 / pi that count.
float reduce_large(float x, out int quadrant) {
  const uint bits = floatBitsToUint(x);
  const uint m = (bits & 0x007fffffu) | 0x00800000u;
  const uint start = (bits >> 23) - 150u + 30u;  // of the window of 96 bits, whose first is worth 2
  const uint word = start >> 5, shift = start & 31u;
  uint w0 = kTwoOverPi[word], w1 = kTwoOverPi[word + 1u], w2 = kTwoOverPi[word + 2u];
  const uint w3 = kTwoOverPi[word + 3u];
  if (shift != 0u) {
    w0 = (w0 << shift) | (w1 >> (32u - shift));
    w1 = (w1 << shift) | (w2 >> (32u - shift));
    w2 = (w2 << shift) | (w3 >> (32u - shift));
  }
  uint high2, low2, high1, low1, carry;
  umulExtended(m, w2, high2, low2);
  umulExtended(m, w1, high1, low1);
  const uint middle = uaddCarry(low1, high2, carry);
  const uint top = m * w0 + high1 + carry;
  quadrant = int(top >> 30);
  // The fraction as 62 bits, in two's complement around 0.
  int f = int(top << 2 | middle >> 30) ;
  const uint f_low = middle << 2 | low2 >> 30;
  if (f < 0) ++quadrant;
  return (float(f) * 2.3283064e-10 + float(f_low) * 5.4210109e-20) * kHalfPi;
}
float reduce(float x, out int quadrant) {
  const float a = magnitude(x);
  float r;
  if (a < 8192.0) {
    const float n = roundEven(a * 0.636619772);
    precise float rest = ((a - n * 1.5703125) - n * 0.00048351287841796875) - n * 3.1391647326017846e-07;
    r = rest;
    quadrant = int(n);
  } else {
    r = reduce_large(a, quadrant);
  }
  if (has_sign(x)) {
    r = -r;
    quadrant = -quadrant;
  }
  return r;
}
float sine_near_zero(float r) {
  const float z = r * r;
  return r + r * z * (-0.166666647 + z * (0.00833274827 + z * -0.000195878909));
}
float cosine_near_zero(float r) {
  const float z = r * r;
  return 1.0 - 0.5 * z + z * z * (0.0416666647 + z * (-0.0013888303 + z * 2.45479417e-05));
}
float sine_in(int quadrant, float r) {
  const float y = (quadrant & 1) == 0 ? sine_near_zero(r) : cosine_near_zero(r);
  return (quadrant & 2) == 0 ? y : -y;
}
float sin_of(float x) {
  if (magnitude_bits(x) >= 0x7f800000u) return kNan;
  if (x == 0.0) return x;
  int quadrant;
  const float r = reduce(x, quadrant);
  return sine_in(quadrant, r);
}
float cos_of(float x) {
  if (magnitude_bits(x) >= 0x7f800000u) return kNan;
  int quadrant;
  const float r = reduce(x, quadrant);
  return sine_in(quadrant + 1, r);
}
float tan_of(float x) {
  if (magnitude_bits(x) >= 0x7f800000u) return kNan;
  if (x == 0.0) return x;
  int quadrant;
  const float r = reduce(x, quadrant);
  return sine_in(quadrant, r) / sine_in(quadrant + 1, r);
}

float asine_of_small(float x) {
  const float z = x * x;
  return x + x * z * (0.166666724 + z * (0.0749885507 + z * (0.0450013802 + z * (0.0265545418 + z * 0.0380850244))));
}
float asin_of(float x) {
  const float a = magnitude(x);
  if (is_nan(x) || a > 1.0) return kNan;
  if (a <= 0.5) return asine_of_small(x);
  return with_sign_of(kHalfPi - 2.0 * asine_of_small(sqrt(0.5 * (1.0 - a))), x);
}
float acos_of(float x) {
  const float a = magnitude(x);
  if (is_nan(x) || a > 1.0) return kNan;
  if (a <= 0.5) return kHalfPi - asine_of_small(x);
  const float y = 2.0 * asine_of_small(sqrt(0.5 * (1.0 - a)));
  return has_sign(x) ? kPi - y : y;
}

float atangent_of_small(float x) {
  const float z = x * x;
  return x + x * z * (-0.333333318 + z * (0.199995405 + z * (-0.142639556 + z * (0.107437314 + z * -0.0645192808))));
}
float atan_of(float x) {
  if (is_nan(x)) return x;
  const float a = magnitude(x);
  float y;
  if (a > 2.41421356) {
    y = kHalfPi - atangent_of_small(1.0 / a);
  } else if (a > 0.414213562) {
    y = 0.785398163 + atangent_of_small((a - 1.0) / (a + 1.0));
  } else {
    y = atangent_of_small(a);
  }
  return with_sign_of(y, x);
}
float atan2_of(float y, float x) {
  if (is_nan(x) || is_nan(y)) return kNan;
  const float a = magnitude(y), b = magnitude(x);
  float angle;
  if (a == 0.0) {
    angle = 0.0;
  } else if (is_infinite(a)) {
    angle = is_infinite(b) ? 0.785398163 : kHalfPi;
  } else if (is_infinite(b)) {
    angle = 0.0;
  } else if (a > b) {
    angle = kHalfPi - atan_of(b / a);
  } else {
    angle = atan_of(a / b);
  }
  return with_sign_of(has_sign(x) ? kPi - angle : angle, y);
}

float erf_of(float x) {
  if (is_nan(x)) return x;
  const float a = magnitude(x);
  if (a <= 1.0) {
    const float z = x * x;
    return x * (1.12837917 + z * (-0.376126385 + z * (0.112837825 + z * (-0.0268654307 + z * (0.00522103181 +
                z * (-0.000848408041 + z * (0.00011265959 + z * -9.66704457e-06)))))));
  }
  if (a >= 4.0) return with_sign_of(1.0, x);
  const float t = a - 2.5;  // exp of it is erfc(a)
  const float q = -7.80681528 + t * (-5.35268075 + t * (-0.943893645 + t * (-0.0108581129 + t * (0.00216516987 +
                  t * (-0.000420791651 + t * (7.73876036e-05 + t * (-1.29256959e-05 + t * (1.61558115e-06 +
                  t * -7.58268197e-08))))))));
  return with_sign_of(1.0 - exp_of(q), x);
}

/// Whether x is an integer, and whether an odd one.
bool is_whole(float x) { return magnitude_bits(x) >= 0x4b000000u || floor(x) == x; }
bool is_odd(float x) {
  if (magnitude_bits(x) >= 0x4b800000u || !is_whole(x)) return false;
  const float half_x = x * 0.5;
  return floor(half_x) != half_x;
}
/// As C's pow.
float pow_of(float a, float b) {
  if (b == 0.0 || a == 1.0) return 1.0;
  if (is_nan(a) || is_nan(b)) return kNan;
  const float base = magnitude(a);
  const bool negative = has_sign(a) && is_odd(b);
  float y;
  if (is_infinite(b)) {
    y = base == 1.0 ? 1.0 : (base > 1.0) == (b > 0.0) ? kInfinity : 0.0;
  } else if (base == 0.0 || is_infinite(base)) {
    y = (base == 0.0) == (b > 0.0) ? 0.0 : kInfinity;
  } else if (has_sign(a) && !is_whole(b)) {
    return kNan;
  } else {
    const vec2 l = log_pair(base);
    const float rough = l.x * b;
    if (magnitude(rough) > 200.0) {
      y = rough > 0.0 ? kInfinity : 0.0;
    } else if (magnitude(b) > 1e30) {
      y = exp_of(rough);
    } else {
      const vec2 product = exact_product(l.x, b);
      y = exp_of_pair(product.x, product.y + l.y * b);
    }
  }
  return negative ? -y : y;
}

/// The exact remainder with the sign of a, as C's, one bit of the quotient at a time.
float fmod_of(float a, float b) {
  const uint y = magnitude_bits(b);
  const uint x = magnitude_bits(a);
  if (x >= 0x7f800000u || y > 0x7f800000u || y == 0u) return kNan;
  if (x < y) return a;
  int x_exponent = int(x >> 23), y_exponent = int(y >> 23);
  uint x_bits = x_exponent == 0 ? x : (x & 0x007fffffu) | 0x00800000u;
  const uint y_bits = y_exponent == 0 ? y : (y & 0x007fffffu) | 0x00800000u;
  x_exponent = max(x_exponent, 1);
  y_exponent = max(y_exponent, 1);
  for (; x_exponent > y_exponent; --x_exponent) {
    if (x_bits >= y_bits) x_bits -= y_bits;
    x_bits <<= 1;
  }
  if (x_bits >= y_bits) x_bits -= y_bits;
  uint result = x_bits;
  if (x_bits != 0u) {
    const int up = min(23 - findMSB(x_bits), x_exponent - 1);
    result = x_bits << up;
    x_exponent -= up;
    if (result >= 0x00800000u) result = (result & 0x007fffffu) | uint(x_exponent) << 23;
  }
  return uintBitsToFloat(result | (floatBitsToUint(a) & 0x80000000u));
}
