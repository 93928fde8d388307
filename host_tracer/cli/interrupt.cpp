#include "host_tracer/cli/interrupt.h"

#include <signal.h>
#include <unistd.h>
#include <atomic>
#include <cstring>

namespace lazyrt {
namespace {

constexpr int kSlots = 8;
constexpr size_t kPathBytes = 4096;
constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};

char g_paths[kSlots][kPathBytes];
std::atomic<bool> g_used[kSlots];

/// Calls only what a signal handler may call.
extern "C" void remove_and_exit(int signal_number) {
  for (int i = 0; i < kSlots; ++i) {
    if (g_used[i].load()) unlink(g_paths[i]);
  }
  constexpr char kText[] = "lazy-export: interrupted, nothing is written\n";
  if (write(STDERR_FILENO, kText, sizeof(kText) - 1) < 0) _exit(128 + signal_number);
  _exit(128 + signal_number);
}

void set_handlers(void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  for (const int number : kSignals) {
    struct sigaction now = {};
    // A signal that the parent told us to ignore (nohup) stays ignored.
    if (sigaction(number, nullptr, &now) == 0 && now.sa_handler == SIG_IGN) continue;
    sigaction(number, &action, nullptr);
  }
}

bool any_used() {
  for (const auto& used : g_used) {
    if (used.load()) return true;
  }
  return false;
}

}  // namespace

RemoveOnInterrupt::RemoveOnInterrupt(const std::string& path) {
  if (path.empty() || path.size() >= kPathBytes) return;
  for (int i = 0; i < kSlots && slot_ < 0; ++i) {
    if (!g_used[i].load()) slot_ = i;
  }
  if (slot_ < 0) return;
  std::memcpy(g_paths[slot_], path.c_str(), path.size() + 1);
  if (!any_used()) set_handlers(remove_and_exit);
  g_used[slot_].store(true);
}

RemoveOnInterrupt::~RemoveOnInterrupt() {
  if (slot_ < 0) return;
  g_used[slot_].store(false);
  if (!any_used()) set_handlers(SIG_DFL);
}

}  // namespace lazyrt
