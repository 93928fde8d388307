#include "tests/fuzz/api_walk.h"

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace lazyrt::fuzz {
namespace {

volatile size_t sink = 0;

void read(const char* text) { sink = sink + std::strlen(text); }
void read(const TensorView& view) {
  for (size_t i = 0; i < view.bytes(); i += 64) sink = sink + view.as<uint8_t>()[i];
  if (view.bytes() != 0) sink = sink + view.as<uint8_t>()[view.bytes() - 1];
}

void read_interface(const Method& method, size_t variant) {
  for (size_t i = 0; i < method.input_count(); ++i) read(method.input(i, variant).name);
  for (size_t i = 0; i < method.output_count(); ++i) read(method.output(i, variant).name);
  for (size_t i = 0; i < method.literal_count(); ++i) read(method.literal(i, variant).name);
  for (size_t i = 0; i < method.guard_count(variant); ++i) {
    read(method.guard(i, variant).text);
    read(method.guard(i, variant).file);
  }
}

void read_samples(const Method& method) {
  for (size_t s = 0; s < method.sample_count(); ++s) {
    if (method.sample_variant(s) >= method.variant_count()) std::abort();
    sink = sink + static_cast<size_t>(method.sample_tolerance(s).absolute > 0);
    for (size_t i = 0; i < method.input_count(); ++i) read(method.sample_input(s, i));
    for (size_t i = 0; i < method.output_count(); ++i) read(method.sample_output(s, i));
  }
}

using Memory = std::unique_ptr<void, void (*)(void*)>;

/// Zeros of the caller's; every other input ends without a tail.
bool bind_own(const Method& method, std::vector<Memory>* memories, Session* session) {
  for (size_t i = 0; i < method.input_count(); ++i) {
    const TensorInfo info = method.input(i);
    const size_t bytes = static_cast<size_t>(info.shape.numel()) * dtype_size(info.dtype);
    const size_t readable = bytes + (i % 2 == 0 ? kTailBytes : 0);
    memories->emplace_back(std::aligned_alloc(kAlignment, (readable / kAlignment + 1) * kAlignment),
                           &std::free);
    void* data = memories->back().get();
    if (data == nullptr) return true;
    std::memset(data, 0, readable);
    if (!session->bind_input(i, {data, info.dtype, info.shape}, readable).ok()) return false;
  }
  return true;
}

/// Results of the last run go to memory of the caller; every other one ends without a tail.
bool bind_results(const Method& method, std::vector<Memory>* memories, Session* session) {
  for (size_t i = 0; i < method.output_count(); ++i) {
    const size_t writable = session->output(i)->bytes() + (i % 2 == 0 ? kTailBytes : 0);
    memories->emplace_back(std::aligned_alloc(kAlignment, (writable / kAlignment + 1) * kAlignment),
                           &std::free);
    void* data = memories->back().get();
    if (data != nullptr && !session->bind_output(i, data, writable).ok()) return false;
  }
  return true;
}

/// Each input becomes the first result or state of its type.
void bind_feedback(const Method& method, Session* session) {
  for (size_t i = 0; i < method.input_count(); ++i) {
    const TensorInfo info = method.input(i);
    const size_t sources = method.output_count() + method.state_count();
    for (size_t k = 0; k < sources; ++k) {
      const size_t at = (k + i) % sources;
      const Result<TensorView> view = at < method.output_count()
                                          ? session->output(at)
                                          : session->state(at - method.output_count());
      if (!view.ok() || view->dtype != info.dtype || view->shape != info.shape) continue;
      (void)session->bind_input(i, *view, view->bytes() + kTailBytes);
      break;
    }
  }
}

}  // namespace

void read_all(const TensorView& view) {
  const auto* bytes = view.as<const uint8_t>();
  for (size_t i = 0; i < view.bytes(); ++i) sink = sink + bytes[i];
}

void read_texts(const NodeInfo& node) {
  for (const char* text : {node.op, node.backend, node.fallback_reason, node.aten, node.module_path,
                           node.file, node.value})
    read(text);
}

void read_statistics(const Method& method, const Session& session) {
  const SessionStats stats = session.stats();
  if (stats.total_bytes < stats.arena_bytes + stats.state_bytes) std::abort();
  for (size_t i = 0; i < session.node_count(); ++i) {
    const Result<NodeInfo> node = node_of(session, i);
    if (!node.ok() || node->variant >= method.variant_count()) std::abort();
    read_texts(*node);
  }
  if (session.node(session.node_count()).ok()) std::abort();
  for (size_t v = 0; v < method.variant_count(); ++v) {
    for (size_t i = 0; i < method.guard_count(v); ++i)
      sink = sink + session.guard_refusals(i, v) + session.guard_refusals(i + 1000, v);
  }
}

void walk(const Program& program) {
  for (size_t i = 0; i < program.info_count(); ++i) {
    read(program.info(i).key);
    read(program.info(i).value);
  }
  for (size_t m = 0; m < program.method_count(); ++m) {
    const Method method = program.method(m);
    if (!program.method(method.name()).ok()) std::abort();
    for (size_t v = 0; v < method.variant_count(); ++v) read_interface(method, v);
    for (size_t i = 0; i < method.state_count(); ++i) read(method.state(i).name);
    for (size_t i = 0; i < method.input_count(); ++i) {
      if (*method.find_input(method.input(i).name) != i) std::abort();
    }
    if (method.find_output("no such output, and a name too long").ok()) std::abort();
    read_samples(method);
  }
}

bool walk(const Method& method, Session* session) {
  std::vector<Memory> memories;
  if (!bind_own(method, &memories, session)) return false;
  session->cancel();  // of no run
  for (int turn = 0; turn < 4; ++turn) {
    const bool ran = session->run().ok();
    for (size_t i = 0; ran && i < method.output_count(); ++i) read(*session->output(i));
    if (ran && turn == 1 && !bind_results(method, &memories, session)) return false;
    if (ran) bind_feedback(method, session);
  }
  read_statistics(method, *session);
  return !session->set_input(method.input_count(), nullptr, 0).ok();
}

}  // namespace lazyrt::fuzz
