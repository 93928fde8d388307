// fail(code) ends the run with the error of this code; if several nodes fail, the first one's error is reported. Define
// ERROR_BINDING and include it behind PUSH.
layout(binding = ERROR_BINDING, std430) buffer ErrorWord { uint error_word[]; };

void fail(uint code) { atomicMin(error_word[push.begin[ERROR_BINDING]], code); }
/// Whether an earlier node has failed.
bool has_failed() { return error_word[push.begin[ERROR_BINDING]] != 0xffffffffu; }
