#pragma once

// The JSON documents of a .pt2. Apart from archive.cpp because the generated readers take a minute
// to compile.

#include <torch/csrc/utils/generated_serialization_types.h>

#include <cstdint>
#include <string>

namespace lazyrt {

/// The export schema's major version that the linked LibTorch's readers describe.
constexpr int64_t kPt2SchemaMajor = 8;

/// The major schema version of models/*.json. Throws std::exception when it is not such a document.
int64_t schema_major(const std::string& json);

/// Both throw std::exception with a text when the document does not have that form.
torch::_export::ExportedProgram parse_program(const std::string& json);
torch::_export::PayloadConfig parse_payloads(const std::string& json);

}  // namespace lazyrt
