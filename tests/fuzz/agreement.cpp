#include "tests/fuzz/agreement.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "kernels/common/element.h"
#include "lazyrt/runtime.h"
#include "tests/fuzz/api_walk.h"
#include "tests/fuzz/bundle_edit.h"
#include "tests/fuzz/exactness.h"
#include "tests/fuzz/fast_backend.h"
#include "tests/fuzz/patch_edit.h"
#include "tests/fuzz/reading_watch.h"
#include "tests/fuzz/single_node.h"
#include "tests/support/meter.h"

namespace lazyrt::fuzz {
namespace {

/// Mostly there is room; at times making a session ends in its midst.
constexpr uint64_t kMemory[] = {uint64_t{1} << 30, uint64_t{1} << 30, 4 << 20, 64 << 10};
constexpr uint64_t kNanoseconds = 2'000'000'000;
/// What a node may take, as a run cannot be ended within one: instrumented reference kernels make
/// some 2^25 steps a second.
constexpr uint64_t kNodeSteps = uint64_t{1} << 23;
constexpr double kTolerance = 2e-4;
/// Of the largest sizes that are tried.
constexpr uint64_t kMostSizedInputBytes = 4 << 20;

bool is_short_of_resources(Error error) {
  return error == Error::kOutOfMemory || error == Error::kDeadlineExceeded;
}

double element(const TensorView& v, int64_t i) {
  double value = 0;
  (void)visit_dtype(AllTypes{}, v.dtype, [&](auto type) {
    value = convert<double>(v.as<const typename decltype(type)::type>()[i]);
    return Status();
  });
  return value;
}

/// The bytes of an input: small numbers, or any bits, as the seed says.
std::vector<uint8_t> draw(const TensorInfo& info, uint64_t seed) {
  const size_t count = static_cast<size_t>(info.shape.numel()), size = dtype_size(info.dtype);
  std::vector<uint8_t> bytes(count * size + 1);
  std::minstd_rand random(static_cast<unsigned>(seed) + 1);
  const bool wild = seed % 8 == 7 && info.dtype != DType::kBool;
  const TensorView view = {bytes.data(), info.dtype, info.shape};
  for (size_t i = 0; wild && i < count * size; ++i) bytes[i] = static_cast<uint8_t>(random() >> 8);
  if (wild) return bytes;
  (void)visit_dtype(AllTypes{}, info.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    for (size_t i = 0; i < count; ++i) {
      const int n = static_cast<int>(random() >> 8);
      view.as<T>()[i] = is_floating(info.dtype) ? convert<T>(n % 1024 / 256.0 - 2)
                                                : convert<T>(n % (seed % 4 == 0 ? 5 : 2));
    }
    return Status();
  });
  return bytes;
}

/// Both backends on one method.
class Pair {
 public:
  Pair(const Method& method, const fb::MethodT& parts, bool is_wild, uint64_t seed,
       Reached* reached)
      : method_(method),
        parts_(parts),
        is_wild_(is_wild),
        seed_(seed),
        reached_(*reached),
        levels_(exactness_of(parts)) {
    for (int b = 0; b < 2; ++b) {
      taps_[b].method = &parts;
      watches_[b] = reading_watch(&taps_[b]);
    }
  }

  /// Of both sessions, within their limit and without a rest.
  std::string run() {
    const uint64_t limit = kMemory[seed_ % std::size(kMemory)];
    const std::string text = run_within(limit);
    for (const test::Meter& meter : meters_) {
      if (meter.peak() > limit + kOwnBytes) return "a session took more than its memory_limit";
      if (meter.live() != 0) return "a session left memory behind";
    }
    for (const TapCheck& taps : taps_) {
      if (!taps.is_as_in_file) return "a tapped value has not the type that the file gives it";
    }
    return text;
  }

 private:
  /// Of the session's own state, which is not counted.
  static constexpr uint64_t kOwnBytes = 8192;

  SessionOptions options(int b, uint64_t limit) {
    SessionOptions options;
    options.backend = b == 0 ? fast_backend() : reference_backend();
    options.memory_limit = limit;
    options.allocator = meters_[b].hooks();
    options.deadline_nanoseconds = kNanoseconds;
    if (seed_ / 8 % 2 == 0) options.watch = &watches_[b];
    options.profile = seed_ / 16 % 2 == 0;
    options.reserve = seed_ / 32 % 4 == 0;
    return options;
  }

  std::string run_within(uint64_t limit) {
    std::vector<Session> sessions;
    Status made[2];
    for (int b = 0; b < 2; ++b) {
      Result<Session> session = Session::create(method_, options(b, limit));
      made[b] = session.status();
      if (is_short_of_resources(made[b].error())) return "";
      if (session.ok()) sessions.push_back(std::move(*session));
    }
    if (made[0].error() != made[1].error()) return both("making a session", made);
    if (sessions.size() != 2) return "";
    ++reached_.sessions;
    reached_.following += has_following_extent() ? 1 : 0;
    const std::string text = run_all_variants(sessions);
    reached_.wild += is_wild_ && has_resized_ ? 1 : 0;
    return text;
  }

  std::string run_all_variants(std::vector<Session>& sessions) {
    for (size_t v = 0; v < method_.variant_count(); ++v) {
      for (int turn = 0; turn < (method_.symbol_count() == 0 ? 2 : 6); ++turn) {
        draw_sizes(static_cast<unsigned>(turn), v);
        const std::string text = run_variant(v, sessions);
        if (!text.empty()) return text;
        for (const Session& s : sessions) read_statistics(method_, s);
        if (stop_) return "";
      }
    }
    const std::string text = reset(sessions);
    for (Session& s : sessions) {
      if (text.empty() && !walk(method_, &s)) return "bind_input refuses memory that fits";
    }
    return text;
  }

  bool has_following_extent() const {
    for (size_t i = 0; i < method_.input_count(); ++i) {
      for (int dim = 0; dim < method_.input(i).shape.rank(); ++dim) {
        const ExtentInfo extent = method_.input_extent(i, dim);
        if (extent.symbol >= 0 && (extent.factor != 1 || extent.offset != 0)) return true;
      }
    }
    return false;
  }

  static std::string both(const char* what, const Status* statuses) {
    return std::string(what) + ": cpu says " + error_name(statuses[0].error()) + " (" +
           statuses[0].message() + "), reference " + error_name(statuses[1].error()) + " (" +
           statuses[1].message() + ")";
  }

  const fb::MethodT& program(size_t variant) const {
    return variant == 0 ? parts_ : *parts_.variants[variant - 1];
  }

  /// Whether all guards up to this variant must be answered alike.
  bool guards_are_exact() const {
    for (size_t v = 0; v < method_.variant_count(); ++v) {
      for (const auto& g : program(v).guards) {
        if (levels_[v][static_cast<size_t>(g->value)] != Exactness::kExact) return false;
      }
    }
    return true;
  }

  /// The sizes of the file first, then the variant's smallest and largest, and others between them,
  /// small ones. The largest only where their inputs are no more than a few MiB.
  void draw_sizes(unsigned turn, size_t v) {
    std::minstd_rand random(static_cast<unsigned>(seed_) + turn);
    sizes_.clear();
    for (size_t s = 0; turn != 0 && s < method_.symbol_count(); ++s) {
      const SymbolInfo symbol = method_.variant_symbol(s, v);
      const auto steps = static_cast<uint64_t>((symbol.max - symbol.min) / symbol.multiple);
      uint64_t step = (random() >> 8) % std::min<uint64_t>(steps + 1, 16);
      if (turn == 1) step = 0;
      if (turn == 2) step = steps;
      sizes_.push_back(symbol.min + static_cast<int64_t>(step) * symbol.multiple);
    }
    if (turn == 2 && input_bytes(v) > kMostSizedInputBytes) draw_sizes(3, v);
  }

  uint64_t input_bytes(size_t v) const {
    uint64_t bytes = 0;
    for (size_t i = 0; i < method_.input_count(); ++i) {
      const TensorInfo info = input_now(i, v);
      uint64_t own = dtype_size(info.dtype);
      for (int dim = 0; dim < info.shape.rank(); ++dim)
        if (__builtin_mul_overflow(own, static_cast<uint64_t>(info.shape[dim]), &own))
          return UINT64_MAX;
      if (__builtin_add_overflow(bytes, own, &bytes)) return UINT64_MAX;
    }
    return bytes;
  }

  TensorInfo input_now(size_t i, size_t v) const {
    TensorInfo info = method_.input(i, v);
    for (int dim = 0; !sizes_.empty() && dim < info.shape.rank(); ++dim) {
      const ExtentInfo extent = method_.input_extent(i, dim);
      if (extent.symbol >= 0) {
        info.shape[dim] =
            extent.factor * sizes_[static_cast<size_t>(extent.symbol)] + extent.offset;
      }
    }
    return info;
  }

  std::string run_variant(size_t v, std::vector<Session>& sessions) {
    Status done[2];
    largest_ = 1;
    for (size_t i = 0; i < method_.input_count(); ++i) {
      const TensorInfo info = input_now(i, v);
      std::vector<uint8_t> bytes = draw(info, seed_ + i);
      const TensorView view = {bytes.data(), info.dtype, info.shape};
      note_largest(view);
      for (Session& s : sessions) {
        const Status set = s.set_input(i, view);
        if (set.ok()) continue;
        stop_ = method_.symbol_count() != 0 && is_short_of_resources(set.error());
        return stop_ ? "" : std::string("an input of the right shape is refused: ") + set.message();
      }
    }
    for (size_t b = 0; b < 2; ++b) done[b] = sessions[b].run();
    ++reached_.runs;
    if (is_short_of_resources(done[0].error()) || is_short_of_resources(done[1].error())) {
      stop_ = true;  // states may differ from now on
      return "";
    }
    if (is_wild_) return end_wild_run(done, sessions);
    const bool exact = guards_are_exact();
    if (done[0].error() != done[1].error()) {
      stop_ = true;
      return exact && !reads_free_indices() ? both("a run", done) : "";
    }
    if (!done[0].ok()) return "";
    note_run_at_other_sizes();
    const size_t ran = *sessions[0].variant();
    if (ran != *sessions[1].variant()) {
      stop_ = true;
      return exact ? "the variants that ran differ" : "";
    }
    return compare(ran, sessions);
  }

  void note_run_at_other_sizes() {
    if (sizes_.empty()) return;
    ++reached_.resized;
    has_resized_ = true;
  }

  /// The backends may compute other things, but what they hold can be read.
  std::string end_wild_run(const Status* done, const std::vector<Session>& sessions) {
    for (size_t b = 0; b < 2; ++b) {
      for (size_t i = 0; done[b].ok() && i < method_.output_count(); ++i)
        read_all(*sessions[b].output(i));
      for (size_t i = 0; i < method_.state_count(); ++i) read_all(*sessions[b].state(i));
    }
    if (done[0].ok() && done[1].ok()) note_run_at_other_sizes();
    return "";
  }

  /// An index that is out of range on one backend only is no finding where rounding made it.
  bool reads_free_indices() const {
    for (size_t v = 0; v < method_.variant_count(); ++v) {
      for (const auto& node : program(v).nodes) {
        for (const int id : node->inputs) {
          if (id < 0 ||
              is_floating(static_cast<DType>(program(v).values[static_cast<size_t>(id)]->dtype)))
            continue;
          if (levels_[v][static_cast<size_t>(id)] != Exactness::kExact) return true;
        }
      }
    }
    return false;
  }

  std::string compare(size_t variant, const std::vector<Session>& sessions) {
    const fb::MethodT& m = program(variant);
    const auto& levels = levels_[variant];
    for (size_t i = 0; i < method_.output_count(); ++i) {
      const Result<TensorView> a = sessions[0].output(i), b = sessions[1].output(i);
      if (!a.ok() || !b.ok()) return "no result after a run that succeeded";
      const int id = m.outputs[i]->value;
      const std::string text = difference(*b, *a, levels[static_cast<size_t>(id)]);
      if (!text.empty()) return "output " + std::to_string(i) + ": " + text;
    }
    for (size_t i = 0; i < method_.state_count(); ++i) {
      const Result<TensorView> a = sessions[0].state(i), b = sessions[1].state(i);
      if (!a.ok() || !b.ok()) return "no state";
      const int id = m.states[i]->value;
      const std::string text = difference(*b, *a, levels[static_cast<size_t>(id)]);
      if (!text.empty()) return "state " + std::to_string(i) + ": " + text;
    }
    return "";
  }

  void note_largest(const TensorView& view) {
    for (int64_t i = 0; is_floating(view.dtype) && i < view.numel(); ++i) {
      const double x = std::fabs(element(view, i));
      if (std::isfinite(x)) largest_ = std::max(largest_, x);
    }
  }

  /// What rounding is a part of: the largest result, or the largest terms that cancelled in it.
  double scale_of(const TensorView& expected) const {
    double scale = 1;
    for (int64_t i = 0; i < expected.numel(); ++i) {
      const double x = std::fabs(element(expected, i));
      if (std::isfinite(x)) scale = std::max(scale, x);
    }
    const double largest = std::max(largest_, largest_constant_);
    return largest <= 4 ? scale : std::max(scale, 64 * largest * largest);
  }

  std::string difference(const TensorView& expected, const TensorView& actual,
                         Exactness exactness) {
    if (expected.dtype != actual.dtype || expected.shape != actual.shape)
      return "another type or shape";
    if (exactness == Exactness::kFree) return "";
    ++reached_.compared;
    const bool real = is_floating(expected.dtype);
    const double allowed = exactness == Exactness::kExact ? 0 : kTolerance * scale_of(expected);
    for (int64_t i = 0; i < expected.numel(); ++i) {
      if (!real) {
        const size_t size = dtype_size(expected.dtype);
        const auto at = static_cast<size_t>(i) * size;
        if (std::memcmp(expected.as<uint8_t>() + at, actual.as<uint8_t>() + at, size) == 0)
          continue;
      }
      const double x = element(expected, i), y = element(actual, i);
      if (expected.dtype == DType::kBool && x == y) continue;  // any byte but 0 is true
      if (real && (!std::isfinite(x) || !std::isfinite(y) || std::fabs(x - y) <= allowed)) continue;
      return "element " + std::to_string(i) + " is " + std::to_string(y) + ", on the reference " +
             std::to_string(x) + " (allowed: " + std::to_string(allowed) + ")";
    }
    return "";
  }

  std::string reset(std::vector<Session>& sessions) {
    for (Session& s : sessions) {
      if (!s.reset_state().ok()) return "reset_state";
    }
    for (size_t i = 0; !is_wild_ && i < method_.state_count(); ++i) {
      const std::string text =
          difference(*sessions[1].state(i), *sessions[0].state(i), Exactness::kExact);
      if (!text.empty()) return "state " + std::to_string(i) + " after a reset: " + text;
    }
    return "";
  }

 public:
  void note_constants(const std::vector<uint8_t>& constants) {
    const auto count = static_cast<int64_t>(constants.size() / sizeof(float));
    std::vector<float> floats(static_cast<size_t>(count));
    if (count != 0) std::memcpy(floats.data(), constants.data(), floats.size() * sizeof(float));
    note_largest({floats.data(), DType::kFloat32, Shape{count}});
    largest_constant_ = largest_;
  }

 private:
  const Method& method_;
  const fb::MethodT& parts_;
  const bool is_wild_;  ///< other sizes may be another program
  const uint64_t seed_;
  std::vector<int64_t> sizes_;  ///< of the symbols in this turn; empty: those of the file
  bool has_resized_ = false;    ///< it gave a result at other sizes
  Reached& reached_;
  const std::vector<std::vector<Exactness>> levels_;  ///< of each program
  double largest_ = 1, largest_constant_ = 1;
  bool stop_ = false;
  TapCheck taps_[2];
  Watch watches_[2];
  test::Meter meters_[2];
};

LoadOptions load_options(Span<const uint8_t> file) {
  LoadOptions options;
  options.memory_limit = kMemory[0];
  options.node_work_limit = kNodeSteps;
  options.work_limit = 4 * kNodeSteps;
  options.check_data = file.size() % 128 < 64;
  return options;
}

std::string compare_method(const Method& method, const fb::MethodT& m,
                           const test::BundleParts& parts, uint64_t seed, Reached* reached) {
  Pair pair(method, m, parts.bundle.producer == kWildProducer, seed, reached);
  pair.note_constants(parts.constants);
  return pair.run();
}

/// Results that a whole run leaves open, as they are made of what was rounded before: one of their
/// nodes, drawn, on exact operands.
std::string compare_a_free_node(const fb::MethodT& m, const std::vector<uint8_t>& constants,
                                uint64_t seed, Reached* reached) {
  const auto levels = exactness_of(m)[0];
  std::vector<size_t> free;
  for (size_t n = 0; n < m.nodes.size(); ++n) {
    const auto& made = m.nodes[n]->outputs;
    if (std::any_of(made.begin(), made.end(),
                    [&](int id) { return levels[static_cast<size_t>(id)] == Exactness::kFree; }))
      free.push_back(n);
  }
  if (free.empty()) return "";
  const size_t node = free[seed / 64 % free.size()];
  const test::BundleParts alone = single_node(default_ops(), m, node, constants);
  const test::AlignedBytes file = test::write_bundle(alone);
  const Result<Program> program =
      Program::load(file.span(), default_ops(), load_options(file.span()));
  if (!program.ok()) return "";
  ++reached->nodes_alone;
  const std::string text =
      compare_method(program->method(0), *alone.bundle.methods[0], alone, seed, reached);
  return text.empty() ? "" : "node " + std::to_string(node) + " alone, " + text;
}

}  // namespace

std::string disagreement(Span<const uint8_t> file, Reached* reached) {
  Reached ignored;
  if (reached == nullptr) reached = &ignored;
  ++reached->inputs;
  const Result<Program> program = Program::load(file, default_ops(), load_options(file));
  test::BundleParts parts;
  if (!program.ok() || !read_parts(file, &parts)) return "";
  ++reached->loaded;
  walk(*program);
  const uint64_t seed = Checksum64::of(file.data(), file.size());
  for (size_t i = 0; i < program->method_count(); ++i) {
    const fb::MethodT& m = *parts.bundle.methods[i];
    std::string text = compare_method(program->method(i), m, parts, seed, reached);
    if (text.empty()) text = compare_a_free_node(m, parts.constants, seed, reached);
    if (!text.empty()) return "method " + std::to_string(i) + ", " + text;
  }
  return "";
}

}  // namespace lazyrt::fuzz
