#include "runtime/core/fault.h"

#include <algorithm>
#include <cstring>

#include "runtime/platform/threads.h"

#if LAZYRT_THREADS
#define LAZYRT_OF_THREAD thread_local
#else
#define LAZYRT_OF_THREAD
#endif

namespace lazyrt {

/// A thread's last Fault.
struct Fault::Kept {
  Status::Record record = {};
  uint32_t number = 0;  ///< of 24 bits; 0: none
#if !LAZYRT_MESSAGES
  char message[Status::kMessageBytes] = {};
#endif
};

Fault::Kept& Fault::kept() {
  static LAZYRT_OF_THREAD Kept last;
  return last;
}

Fault::Kept* Fault::find() const {
  Kept& last = kept();
  return !ok() && last.number == word_ >> 8 ? &last : nullptr;
}

uint32_t Fault::begin(Error error) {
  Kept& last = kept();
  last.number = std::max<uint32_t>((last.number + 1) & 0xffffff, 1);
  return static_cast<uint32_t>(error) | last.number << 8;
}

Fault::Fault(const Status& status) {
  if (status.ok()) return;
  word_ = begin(status.error());
  kept().record = status.record_;
}

Fault::operator Status() const {
  if (ok()) return {};
  const Kept* kept = find();
  Status status;
  if (kept != nullptr) status.record_ = kept->record;
  status.record_.error = error();
  return status;
}

const char* Fault::message() const {
  Kept* kept = find();
  if (kept == nullptr) return "";
#if LAZYRT_MESSAGES
  return kept->record.message;
#else
  return kept->record.write(kept->message);
#endif
}

#if LAZYRT_MESSAGES

uint32_t Fault::make(Error error, const char* format, ...) {
  const uint32_t word = begin(error);
  Status::Record& record = kept().record;
  va_list args;
  va_start(args, format);
  record.format(format, args);
  va_end(args);
  record.error = error;
  record.node_end = 0;
  record.op[0] = record.module_path[0] = '\0';
  return word;
}

Fault Fault::with_context(const char* format, ...) const {
  Kept* kept = find();
  if (kept == nullptr) return *this;
  va_list args;
  va_start(args, format);
  kept->record.add_context(format, args);
  va_end(args);
  return *this;
}

namespace {

/// The beginning of `text`, as far as there is room.
template <size_t N>
void copy_text(const char* text, char (&to)[N]) {
  const size_t bytes = std::min(std::strlen(text), N - 1);
  std::memcpy(to, text, bytes);
  to[bytes] = '\0';
}

}  // namespace

Fault Fault::at_node(size_t node, const char* text, const char* op, const char* module_path) const {
  Kept* kept = find();
  if (kept == nullptr) return *this;
  Status::Record& record = kept->record;
  record.node_end = static_cast<uint32_t>(node) + 1;
  copy_text(op, record.op);
  copy_text(module_path, record.module_path);
  return with_context("%s", text);
}

#else

uint32_t Fault::make(uint32_t id, uint32_t error_and_layout, ...) {
  const auto error = static_cast<Error>(error_and_layout & 0xff);
  const uint32_t word = begin(error);
  Status::Record& record = kept().record;
  record = Status::Record();
  record.error = error;
  va_list args;
  va_start(args, error_and_layout);
  record.add(id, error_and_layout >> 8, args);
  va_end(args);
  return word;
}

uint32_t Fault::add(uint32_t word, uint32_t id, uint32_t layout, ...) {
  Kept* kept = of(word).find();
  if (kept == nullptr) return word;
  va_list args;
  va_start(args, layout);
  kept->record.add(id, layout >> 8, args);
  va_end(args);
  return word;
}

Fault Fault::at_node(size_t node, const char*, const char*, const char*) const {
  Kept* kept = find();
  if (kept != nullptr) kept->record.node_end = static_cast<uint32_t>(node) + 1;
  return *this;
}

#endif

}  // namespace lazyrt
