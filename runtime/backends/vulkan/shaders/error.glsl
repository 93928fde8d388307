// Errors that end the run, in ErrorBlock (recorder.h). If several nodes fail, the first one's error is reported. Define
// ERROR_BINDING and include it behind PUSH.
layout(binding = ERROR_BINDING, std430) buffer ErrorBlock { uint error_block[]; };
#define ERROR_WORD(i) error_block[push.begin[ERROR_BINDING] + (i)]

const uint kErrorSlots = 16u;

/// Ends the run with the error of this code. Returns false if an earlier node has failed.
bool fail(uint code) { return atomicMin(ERROR_WORD(0u), code) >= code; }
bool has_failed() { return ERROR_WORD(0u) != 0xffffffffu; }
/// The first word of this code's slot: the least position, then the value there.
uint error_slot(uint code) { return 1u + code % kErrorSlots * 3u; }
