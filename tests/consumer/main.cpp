// An application on LazyRT's public API: y = relu(x + w) of a bundle, printed. `consumer FILE.lzb`.
#include <lazyrt/backend_choice.h>

#include "run.h"

#ifndef BACKEND
#define BACKEND cpu_backend
#endif

int main(int argc, char** argv) {
#ifdef ON_GPU
  lazyrt::BackendChoice backends;  // outlives the Program
  const auto backend = backends.find("vulkan");
  if (!backend.ok()) return fail(backend.status());
#else
  const lazyrt::Result<const lazyrt::Backend*> backend = lazyrt::BACKEND();
#endif
  return run(argc > 1 ? argv[1] : "", *backend);
}
