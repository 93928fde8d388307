// Bytes as a bundle: whatever they are, load answers, and what it accepts makes a session and runs.

#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#include "lazyrt/runtime.h"
#include "tests/fuzz/api_walk.h"
#include "tests/fuzz/fast_backend.h"
#include "tests/fuzz/numbers.h"
#include "tests/fuzz/reading_watch.h"
#include "tests/support/bundle_writer.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace {

using namespace lazyrt;

constexpr uint64_t kMemoryLimit = 1 << 20;
constexpr uint64_t kNodeSteps = uint64_t{1} << 23;

/// Inputs of every pattern: the first byte of the file decides.
void fill(std::vector<uint8_t>* bytes, uint8_t pattern) {
  for (size_t i = 0; i < bytes->size(); ++i) {
    (*bytes)[i] = pattern == 0 ? 0 : static_cast<uint8_t>(i * pattern);
  }
}

void read(const Result<TensorView>& view) {
  if (!view.ok()) std::abort();
  fuzz::read_all(*view);
}

/// Which of the sizes that a variant takes.
enum class Sizes { kOfFile, kSmallest, kBetween, kLargest };

TensorInfo input_at(const Method& method, size_t i, size_t variant, Sizes sizes) {
  TensorInfo info = method.input(i, variant);
  for (int dim = 0; sizes != Sizes::kOfFile && dim < info.shape.rank(); ++dim) {
    const ExtentInfo extent = method.input_extent(i, dim);
    if (extent.symbol < 0) continue;
    const SymbolInfo s = method.variant_symbol(static_cast<size_t>(extent.symbol), variant);
    int64_t size = sizes == Sizes::kSmallest ? s.min : s.max;
    if (sizes == Sizes::kBetween) size = s.min + (s.max - s.min) / s.multiple / 2 * s.multiple;
    info.shape[dim] = extent.factor * size + extent.offset;
  }
  return info;
}

/// Runs with inputs of this variant's shapes: it, an earlier one, or none is the one that fits.
/// At other sizes than the file's there may be too little memory.
void run_variant(const Method& method, size_t variant, Sizes sizes, uint8_t pattern,
                 Session* session) {
  for (size_t i = 0; i < method.input_count(); ++i) {
    const TensorInfo info = input_at(method, i, variant, sizes);
    const uint64_t size = dtype_bytes(info.dtype, info.shape.numel());
    if (size > kMemoryLimit) return;
    std::vector<uint8_t> bytes(size + 1);
    fill(&bytes, info.dtype == DType::kBool ? 0 : pattern);
    const Status set = session->set_input(i, {bytes.data(), info.dtype, info.shape});
    if (set.error() == Error::kOutOfMemory && method.symbol_count() != 0) return;
    if (!set.ok()) std::abort();
  }
  const bool ran = session->run().ok();
  fuzz::read_statistics(method, *session);
  for (size_t i = 0; ran && i < method.output_count(); ++i) read(session->output(i));
}

void run_method(const Method& method, const Backend* backend, uint8_t pattern) {
  fuzz::TapCheck taps;
  const Watch watch = fuzz::reading_watch(&taps);
  SessionOptions options;
  options.backend = backend;
  options.memory_limit = kMemoryLimit;
  options.watch = pattern % 2 == 0 ? &watch : nullptr;
  options.reserve = pattern % 8 == 1;
  options.profile = pattern % 4 < 2;
  Result<Session> session = Session::create(method, options);
  if (!session.ok()) return;
  for (size_t v = 0; v < method.variant_count(); ++v) {
    run_variant(method, v, Sizes::kOfFile, pattern, &*session);
    if (method.symbol_count() == 0) continue;
    for (const Sizes sizes : {Sizes::kSmallest, Sizes::kLargest, Sizes::kBetween, Sizes::kOfFile})
      run_variant(method, v, sizes, pattern, &*session);
  }
  for (size_t k = 0; k < method.state_count(); ++k) read(session->state(k));
  if (!session->reset_state().ok()) std::abort();
}

/// Where the metadata lies, or everything after the prolog if the prolog lies.
std::pair<size_t, size_t> metadata_of(const uint8_t* data, size_t size) {
  BundleProlog p;
  std::memcpy(&p, data, sizeof(p));
  if (p.metadata_offset >= size || p.metadata_bytes > size - p.metadata_offset ||
      p.metadata_bytes == 0) {
    return {sizeof(p), size - sizeof(p)};
  }
  return {p.metadata_offset, p.metadata_bytes};
}

/// A scalar somewhere in the metadata becomes a number that tends to break things.
void set_scalar(uint8_t* data, size_t bytes, std::minstd_rand* random) {
  const size_t width = size_t{1} << ((*random)() % 4);
  if (bytes < width) return;
  const size_t at = (*random)() % (bytes / width) * width;
  int64_t number = fuzz::kNumbers[(*random)() % std::size(fuzz::kNumbers)];
  if ((*random)() % 4 == 0) {
    std::memcpy(&number, data + at, width);
    const uint64_t step = (*random)() % 9;
    number = static_cast<int64_t>(static_cast<uint64_t>(number) + step - 4);
  }
  std::memcpy(data + at, &number, width);
}

void seal(uint8_t* data, size_t size) {
  test::AlignedBytes file(data, size);
  file.prolog().file_bytes = size;
  test::reseal(&file);
  std::memcpy(data, file.data(), size);
}

}  // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned int seed) {
  std::minstd_rand random(seed);
  if (size < sizeof(BundleProlog) + 16 || random() % 64 == 0)
    return LLVMFuzzerMutate(data, size, max_size);
  const auto [at, bytes] = metadata_of(data, size);
  switch (random() % 4) {
    case 0:
      LLVMFuzzerMutate(data + at, bytes, bytes);
      break;
    case 1:
      size = LLVMFuzzerMutate(data, size, max_size);
      break;
    default:
      for (unsigned n = 1 + random() % 3; n > 0; --n) set_scalar(data + at, bytes, &random);
  }
  if (size >= sizeof(BundleProlog)) seal(data, size);
  return size;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const test::AlignedBytes file(data, size);
  LoadOptions options;
  options.memory_limit = kMemoryLimit;
  options.node_work_limit = kNodeSteps;
  options.work_limit = 4 * kNodeSteps;
  options.check_data = size % 2 == 0;
  const Result<Program> program = Program::load(file.span(), default_ops(), options);
  if (!program.ok()) return 0;
  fuzz::walk(*program);
  for (size_t i = 0; i < program->method_count(); ++i) {
    const Method method = program->method(i);
    const uint8_t pattern = size == 0 ? 0 : data[size / 2];
    run_method(method, reference_backend(), pattern);
    run_method(method, fuzz::fast_backend(), pattern);
  }
  return 0;
}
