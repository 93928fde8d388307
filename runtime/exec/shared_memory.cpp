#include "runtime/exec/shared_memory.h"

namespace lazyrt {

void describe_source(const fb::Method& texts, int32_t source, NodeInfo* info) {
  if (source < 0) return;
  const fb::Source& s = source_at(texts, source);
  info->aten = text_of(s.aten());
  info->module_path = text_of(s.module_path());
  info->file = text_of(s.file());
  info->line = s.line();
}

}  // namespace lazyrt
