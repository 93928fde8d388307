// fail(code, value) ends the run with the error of this code; the first one counts. Needs ERROR_BINDING;
// include it behind PUSH.
layout(binding = ERROR_BINDING, std430) buffer ErrorWord { uint error_word[]; };

void fail(uint code, uvec2 value) {
  const uint at = push.begin[ERROR_BINDING];
  if (atomicCompSwap(error_word[at], 0u, code) == 0u) {
    error_word[at + 1u] = value.x;
    error_word[at + 2u] = value.y;
  }
}
