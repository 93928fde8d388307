// Does not compile: cortex_m.buffer_too_small.

#include "ds_cnn.h"
#include "lazyrt/static_memory.h"

uint8_t buffer[ds_cnn::forward::kBufferBytes - 1];
lazyrt::StaticMemory memory(ds_cnn::forward(), buffer);
