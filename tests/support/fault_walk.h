#pragma once

// All that a caller does with a bundle, while memory is short once: a call answers kOutOfMemory,
// the same call made again succeeds, and every result is what it is with enough memory.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "lazyrt/runtime.h"
#include "tests/support/bundle_writer.h"

namespace lazyrt::test {

/// What a walk runs, and what it gave.
struct WalkScript {
  AlignedBytes file;
  const OpTable* ops = nullptr;
  /// By run: a tensor for each input. Their data is aligned, with a tail.
  std::vector<std::vector<TensorView>> runs;
  /// By run and output, in their order: filled by a walk that nothing disturbs.
  std::vector<std::vector<uint8_t>> expected;
  std::vector<AlignedBytes> memory;  ///< of the tensors

  void add_run(const std::vector<TensorView>& inputs) {
    std::vector<TensorView> run;
    for (const TensorView& input : inputs) {
      AlignedBytes copy(align_up(input.bytes() + kTailBytes, kAlignment));
      if (input.bytes() != 0) std::memcpy(copy.data(), input.data, input.bytes());
      run.push_back({copy.data(), input.dtype, input.shape});
      memory.push_back(std::move(copy));
    }
    runs.push_back(std::move(run));
  }
};

/// Counts values and spans that it is told of.
struct WalkWatch {
  size_t values = 0;
  size_t spans = 0;

  Watch watch() {
    Watch w;
    w.context = this;
    w.take = [](void* self, const TapPoint&, const TensorView&) {
      ++static_cast<WalkWatch*>(self)->values;
    };
    w.span = [](void* self, const RunSpan&) { ++static_cast<WalkWatch*>(self)->spans; };
    return w;
  }
};

/// One way through. Allocates nothing of its own but on a first walk.
class FaultWalk {
 public:
  /// `options`: of the sessions; with hooks those of the Program, too.
  FaultWalk(WalkScript* script, const SessionOptions& options)
      : script_(*script), options_(options), is_first_(script->expected.empty()) {}

  /// How many calls said that memory is short. What is wrong is in wrong().
  size_t go() {
    LoadOptions load;
    load.allocator = options_.allocator;
    Result<Program> program =
        again([&] { return Program::load(script_.file.span(), *script_.ops, load); }, "load");
    if (!program.ok()) return failures_;
    Result<Session> session =
        again([&] { return Session::create(program->method(0), options_); }, "create");
    if (!session.ok()) return failures_;
    run_all(&*session, /*bind=*/false);
    call([&] { return session->reset_state(); }, "reset_state");
    run_all(&*session, /*bind=*/true);
    return failures_;
  }
  const char* wrong() const { return wrong_; }

 private:
  template <class Fn>
  std::invoke_result_t<Fn> again(const Fn& fn, const char* what) {
    auto result = fn();
    if (result.status().error() == Error::kOutOfMemory) {
      ++failures_;
      result = fn();
    }
    note(result.status(), what);
    return result;
  }
  template <class Fn>
  void call(const Fn& fn, const char* what) {
    Status status = fn();
    if (status.error() == Error::kOutOfMemory) {
      ++failures_;
      status = fn();
    }
    note(status, what);
  }
  void note(const Status& status, const char* what) {
    if (status.ok() || wrong_[0] != '\0') return;
    snprintf(wrong_, sizeof(wrong_), "%s: %s", what, status.message());
  }

  void run_all(Session* session, bool bind) {
    for (const std::vector<TensorView>& inputs : script_.runs) {
      for (size_t i = 0; i < inputs.size(); ++i) {
        call(
            [&] {
              const size_t readable = inputs[i].bytes() + kTailBytes;
              return bind ? session->bind_input(i, inputs[i], readable)
                          : session->set_input(i, inputs[i]);
            },
            bind ? "bind_input" : "set_input");
      }
      call([&] { return session->run(); }, "run");
      if (wrong_[0] != '\0') return;
      compare(*session);
    }
  }

  /// With what the first walk saw.
  void compare(const Session& session) {
    for (size_t i = 0;; ++i) {
      const Result<TensorView> view = session.output(i);
      if (!view.ok()) return;
      const auto* data = static_cast<const uint8_t*>(view->data);
      if (is_first_) {
        script_.expected.emplace_back(data, data + view->bytes());
        continue;
      }
      const std::vector<uint8_t>& expected = script_.expected[next_++];
      const bool same = expected.size() == view->bytes() &&
                        std::memcmp(expected.data(), data, view->bytes()) == 0;
      if (!same && wrong_[0] == '\0') snprintf(wrong_, sizeof(wrong_), "output %zu differs", i);
    }
  }

  WalkScript& script_;
  const SessionOptions& options_;
  const bool is_first_;
  size_t next_ = 0;
  size_t failures_ = 0;
  char wrong_[300] = "";
};

/// Fails one allocation asked of its hooks, and counts what is out.
class FailOnce {
 public:
  explicit FailOnce(size_t allowed) : left_(allowed) {}
  AllocatorHooks hooks() {
    return {this,
            [](void* self, size_t bytes, size_t alignment) -> void* {
              auto* once = static_cast<FailOnce*>(self);
              if (!once->has_failed_ && once->left_-- == 0) {
                once->has_failed_ = true;
                return nullptr;
              }
              ++once->live_;
              const size_t unit = alignment < 16 ? 16 : alignment;
              return std::aligned_alloc(unit, (bytes + unit) / unit * unit);
            },
            [](void* self, void* p) {
              if (p != nullptr) --static_cast<FailOnce*>(self)->live_;
              std::free(p);
            }};
  }
  bool failed() const { return has_failed_; }
  long live() const { return live_; }

 private:
  size_t left_;
  bool has_failed_ = false;
  long live_ = 0;
};

/// A script's bundles, by number: a fixed network, one of any size, variants with guards and a
/// state.
constexpr int kWalkScripts = 3;
WalkScript walk_script(int which, const OpTable& ops);

}  // namespace lazyrt::test
