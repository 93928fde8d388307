#pragma once

// A loaded TorchScript module seen through one run: its tensors on the run's device, its own
// attributes never written.

#include <ATen/core/ivalue.h>
#include <torch/csrc/jit/api/module.h>

#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "host_tracer/capture/capture.h"

namespace lazyrt {

/// Names of a module's tensors and submodules; the same for all runs.
class ScriptModule {
 public:
  /// Throws c10::Error naming all attributes that cannot be captured (custom classes, quantized
  /// or sparse tensors).
  explicit ScriptModule(torch::jit::Module module);

  const torch::jit::Module& module() const { return module_; }
  const std::vector<NamedTensor>& parameters() const { return parameters_; }
  /// Registered buffers and plain tensor attributes.
  const std::vector<NamedTensor>& buffers() const { return buffers_; }
  /// "encoder.layer.0"; nullptr for an object that is no submodule.
  const std::string* path_of(const c10::ivalue::Object* object) const;

 private:
  void name_submodules();
  void name_tensors();
  void name_nested(const c10::IValue& value, const std::string& name);
  void refuse_strangers() const;

  torch::jit::Module module_;
  std::unordered_map<const c10::ivalue::Object*, std::string> paths_;
  std::vector<NamedTensor> parameters_;
  std::vector<NamedTensor> buffers_;
};

/// Reads and writes of attributes within one run.
class ScriptState {
 public:
  /// `place` brings a tensor of the module to the run's device.
  ScriptState(const ScriptModule& module, std::function<at::Tensor(const at::Tensor&)> place)
      : module_(module), place_(std::move(place)) {}

  c10::IValue get(const c10::intrusive_ptr<c10::ivalue::Object>& object, const std::string& name);
  void set(const c10::intrusive_ptr<c10::ivalue::Object>& object, const std::string& name,
           c10::IValue value);

  /// At the end of a run: attributes that were given another tensor get its values in place, so
  /// that capture sees the write. Throws c10::Error naming an attribute whose new value cannot be
  /// kept between runs.
  void write_back();

 private:
  using Key = std::pair<const c10::ivalue::Object*, size_t>;
  struct Slot {
    c10::IValue value;
    std::string name;
    c10::IValue before;       ///< of the file; tensors on the run's device
    bool read_first = false;  ///< the run depends on `before`
    bool written = false;
  };

  Slot& slot_of(const c10::ivalue::Object* object, const std::string& name);
  void write_back(const Slot& slot) const;

  const ScriptModule& module_;
  std::function<at::Tensor(const at::Tensor&)> place_;
  std::map<Key, Slot> slots_;
};

/// `value` with `place` on all tensors in it, `device` for every device; lists and dicts are new
/// ones. Objects are left as they are.
c10::IValue map_script_value(const c10::IValue& value,
                             const std::function<at::Tensor(const at::Tensor&)>& place,
                             at::Device device);

}  // namespace lazyrt
