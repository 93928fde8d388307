#pragma once

// What kind of file a model is in, by its content. Free of LibTorch types.

#include <string>

#include "host_tracer/support/outcome.h"

namespace lazyrt {

enum class ModelKind {
  kExportedProgram,  ///< .pt2: torch.export.save
  kTorchScript,      ///< .pt: torch.jit.save
};

/// kNotFound, kIo: the file. kInvalidBundle: a file of another kind, damaged or cut short; the
/// text says what it is and what to do.
Outcome<ModelKind> model_kind(const std::string& path);

}  // namespace lazyrt
