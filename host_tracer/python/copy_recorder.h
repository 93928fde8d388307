#pragma once

#include <ATen/record_function.h>

#include <memory>
#include <string>
#include <unordered_set>
#include <utility>

namespace lazyrt {

/// Sees on this thread whether operators that may copy (contiguous, reshape and their like) do so
/// in code that no mode of Python sees: TorchScript's. Those inside of others do not count.
class CopyRecorder {
 public:
  explicit CopyRecorder(std::unordered_set<std::string> operators)
      : operators_(std::move(operators)) {}

  void start();
  void stop();
  bool copied() const { return copied_; }

 private:
  struct Call;

  static std::unique_ptr<at::ObserverContext> begin_call(const at::RecordFunction& function);
  static void end_call(const at::RecordFunction& function, at::ObserverContext* context);

  static thread_local CopyRecorder* running_;
  const std::unordered_set<std::string> operators_;
  at::CallbackHandle handle_ = 0;
  int depth_ = 0;  ///< of operators
  bool copied_ = false;
};

}  // namespace lazyrt
