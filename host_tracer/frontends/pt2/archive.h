#pragma once

// The zip file behind a .pt2: model, weights, constants and sample inputs.

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <caffe2/serialize/inline_container.h>
#include <torch/csrc/utils/generated_serialization_types.h>

#include <map>
#include <memory>
#include <string>
#include <unordered_map>

namespace lazyrt {

/// The file itself is at fault: missing, damaged, or of another kind.
class Pt2FileError : public c10::Error {
 public:
  using c10::Error::Error;
};

class Pt2Archive {
 public:
  /// Opens the file and reads the model's description. Throws Pt2FileError with a text that says
  /// what is wrong with the file.
  explicit Pt2Archive(const std::string& path);

  const torch::_export::ExportedProgram& program() const { return program_; }

  /// Parameters, buffers and constants by their full names. Tied ones share storage.
  std::unordered_map<std::string, at::Tensor> tensors();

  /// The sample (args, kwargs), or None when the file has none or they cannot be read without
  /// Python; then `why` says so.
  c10::IValue sample_inputs(std::string* why);

 private:
  void open();
  void find_model();
  void read_program();
  [[noreturn]] void refuse(const std::string& why) const;
  bool has(const std::string& record) const;
  std::string text_record(const std::string& record);
  void add_tensors(const std::string& folder, const std::string& config,
                   std::unordered_map<std::string, at::Tensor>& out);
  at::Tensor read_tensor(const std::string& name, const std::string& record,
                         const torch::_export::PayloadMeta& meta);
  at::Storage storage(const std::string& record);

  std::string path_;
  std::unique_ptr<caffe2::serialize::PyTorchStreamReader> zip_;
  std::vector<std::string> records_;
  std::string model_;  ///< "model" of models/model.json
  torch::_export::ExportedProgram program_;
  std::map<std::string, at::Storage> storages_;
};

/// The dtype of a serialized code. Throws naming `what` when it is unknown.
at::ScalarType scalar_type_of(torch::_export::ScalarType type, const std::string& what);

}  // namespace lazyrt
