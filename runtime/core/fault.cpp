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
  uint32_t word = 0;  ///< the Fault's as it was made; 0: none
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
  return !ok() && last.word >> 8 == word_ >> 8 ? &last : nullptr;
}

/// Its number has 24 bits, and is not 0.
Fault::Kept& Fault::begin(Error error) {
  Kept& last = kept();
  const uint32_t number = std::max<uint32_t>(((last.word >> 8) + 1) & 0xffffff, 1);
  last.word = static_cast<uint32_t>(error) | number << 8;
  return last;
}

Fault::Fault(const Status& status) {
  if (status.ok()) return;
  Kept& kept = begin(status.error());
  kept.record = status.record_;
  word_ = kept.word;
}

void FirstFault::add(Fault fault) {
  if (!ok() || fault.ok()) return;
  const Fault::Kept* kept = fault.find();
  if (kept != nullptr) record_ = kept->record;
  record_.error = fault.error();
}

FirstFault::operator Fault() const {
  if (ok()) return {};
  Fault::Kept& kept = Fault::begin(record_.error);
  kept.record = record_;
  return Fault::of(kept.word);
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
  Kept& kept = begin(error);
  Status::Record& record = kept.record;
  va_list args;
  va_start(args, format);
  record.format(format, args);
  va_end(args);
  record.error = error;
  record.node_end = 0;
  record.op[0] = record.module_path[0] = '\0';
  return kept.word;
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

/// Copies the beginning of `text`, as far as there is room.
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

uint32_t Fault::make(uint32_t id, Error error, const int64_t* numbers, size_t count) {
  Kept& kept = begin(error);
  kept.record.start(error, id, numbers, count);
  return kept.word;
}

uint32_t Fault::make(uint32_t id, Error error) { return make(id, error, nullptr, 0); }
uint32_t Fault::make(uint32_t id, Error error, int64_t a) { return make(id, error, &a, 1); }
uint32_t Fault::make(uint32_t id, Error error, int64_t a, int64_t b) {
  const int64_t numbers[] = {a, b};
  return make(id, error, numbers, 2);
}

uint32_t Fault::make_bad(uint32_t id) { return make(id, Error::kInvalidBundle); }
uint32_t Fault::make_bad(uint32_t id, int64_t a) { return make(id, Error::kInvalidBundle, a); }
uint32_t Fault::make_bad(uint32_t id, int64_t a, int64_t b) {
  return make(id, Error::kInvalidBundle, a, b);
}

uint32_t Fault::make_many(uint32_t id, uint32_t error_and_layout, ...) {
  int64_t numbers[Status::kNumbers];
  const size_t count = std::min<size_t>(error_and_layout >> 8 & 0xf, Status::kNumbers);
  uint32_t kinds = error_and_layout >> 12;
  va_list args;
  va_start(args, error_and_layout);
  for (size_t i = 0; i < count; ++i, kinds >>= 2) {
    const uint32_t kind = kinds & 3;
    numbers[i] = kind == Numbers::kInt64 ? va_arg(args, int64_t)
                 : kind == Numbers::kUint32 ? int64_t{va_arg(args, uint32_t)}
                 : kind == Numbers::kInt32 ? int64_t{va_arg(args, int32_t)}
                                           : 0;
  }
  va_end(args);
  return make(id, static_cast<Error>(error_and_layout & 0xff), numbers, count);
}

uint32_t Fault::add(uint32_t word, uint32_t id, const int64_t* numbers, size_t count) {
  Kept* kept = of(word).find();
  if (kept != nullptr) kept->record.add(id, numbers, count);
  return word;
}

uint32_t Fault::add(uint32_t word, uint32_t id) { return add(word, id, nullptr, 0); }
uint32_t Fault::add(uint32_t word, uint32_t id, int64_t a) { return add(word, id, &a, 1); }
uint32_t Fault::add(uint32_t word, uint32_t id, int64_t a, int64_t b) {
  const int64_t numbers[] = {a, b};
  return add(word, id, numbers, 2);
}

Fault Fault::at_node(size_t node, const char*, const char*, const char*) const {
  Kept* kept = find();
  if (kept != nullptr) kept->record.node_end = static_cast<uint32_t>(node) + 1;
  return *this;
}

#endif

}  // namespace lazyrt
