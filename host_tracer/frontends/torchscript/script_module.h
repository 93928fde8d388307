#pragma once

// A loaded TorchScript module seen through one run: its tensors on the run's device, its own
// attributes never written.

#include <ATen/core/ivalue.h>
#include <torch/csrc/jit/api/module.h>

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "host_tracer/frontends/torchscript/script_forms.h"
#include "host_tracer/record/capture.h"

namespace lazyrt {

/// Names of a module's tensors and submodules; the same for all runs.
class ScriptModule {
 public:
  /// Throws c10::Error naming all attributes that cannot be captured (custom classes, quantized
  /// or sparse tensors). With a phase, names are those of its states.
  explicit ScriptModule(torch::jit::Module module,
                        std::shared_ptr<const ScriptPhase> phase = nullptr);

  const torch::jit::Module& module() const { return module_; }
  const std::vector<NamedTensor>& parameters() const { return parameters_; }
  /// Registered buffers and plain tensor attributes.
  const std::vector<NamedTensor>& buffers() const { return buffers_; }
  /// "encoder.layer.0"; nullptr for an object that neither is a submodule nor lies in one.
  const std::string* path_of(const c10::ivalue::Object* object) const;

  /// All names of a buffer or plain tensor attribute, also of one that lies in a list, tuple or
  /// dict.
  std::vector<std::string> names_of(const at::TensorImpl* tensor) const;

  /// Calls `visit` with each attribute and its path, also with those of objects other than modules.
  void visit_attributes(
      const std::function<void(const c10::IValue& value, const std::string& path)>& visit) const;

  /// Null for a module whose attributes keep their form.
  const ScriptPhase* phase() const { return phase_.get(); }

  /// A number among the attributes that runs change: the next capture has it as a state.
  void keep_number(const std::string& name) { numbers_.insert(name); }
  const std::set<std::string>& kept_numbers() const { return numbers_; }

 private:
  void name_objects();
  void name_objects_in(const c10::IValue& value, const std::string& path);
  void name_tensors();
  void name_nested(const c10::IValue& value, const std::string& name);
  void refuse_strangers() const;
  void refuse_one_name() const;

  torch::jit::Module module_;
  std::shared_ptr<const ScriptPhase> phase_;
  std::unordered_map<const c10::ivalue::Object*, std::string> paths_;
  std::vector<NamedTensor> parameters_;
  std::vector<NamedTensor> buffers_;
  std::set<std::string> numbers_;
};

/// Runs a function of the module, whose first argument is the module itself.
using ScriptCall =
    std::function<c10::IValue(torch::jit::Function& function, std::vector<c10::IValue> stack)>;

/// What a call of the module gives: its forward between its scripted hooks, each run by `call`.
c10::IValue call_with_hooks(const torch::jit::Module& module, std::vector<c10::IValue> arguments,
                            const ScriptCall& call);

/// What has been made of a list or dict, by its address.
using MappedContainers = std::unordered_map<const void*, c10::IValue>;

/// Reads and writes of attributes within one run.
class ScriptState {
 public:
  /// `place` brings a tensor of the module to the run's device, which is `device`.
  ScriptState(const ScriptModule& module, at::Device device,
              std::function<at::Tensor(const at::Tensor&)> place)
      : module_(module), device_(device), place_(std::move(place)) {}

  c10::IValue get(const c10::intrusive_ptr<c10::ivalue::Object>& object, const std::string& name);
  void set(const c10::intrusive_ptr<c10::ivalue::Object>& object, const std::string& name,
           c10::IValue value);

  /// The run changes a list or dict, which may be what an attribute holds.
  void note_container_write() { writes_containers_ = true; }

  /// Whether an attribute that the run has touched is this very tensor.
  bool holds(const at::Tensor& tensor) const;

  /// How the tensors of the attributes that runs have touched lie in memory, and which share it.
  std::string layout() const;

  /// At the end of a run: attributes that were given another tensor get its values in place, so
  /// that capture sees the write, and so do numbers that are kept; in a phase, the states of the
  /// next one get them. Throws c10::Error naming an attribute that takes another form, or two that
  /// become one tensor into which the program writes. On the CPU, where runs are single ones:
  /// nothing.
  void write_back();

  /// After write_back(), failed or not: the numbers that change from run to run and are not kept
  /// yet.
  const std::vector<std::string>& changing_numbers() const { return changing_numbers_; }
  /// The attributes that take another form from run to run: they need phases.
  const std::vector<std::string>& changing_forms() const { return changing_forms_; }
  /// Attributes that are no tensors and that the run has read as they are in the file.
  std::vector<std::string> read_constants() const;
  /// After write_back(): attributes that the run has set, without reading them, to what is no state
  /// of the trace.
  const std::vector<std::string>& only_set() const { return only_set_; }
  /// After write_back(): attributes that became one tensor, and those whose tensor was written.
  const std::set<std::string>& made_one() const { return made_one_; }
  const std::set<std::string>& written_in_place() const { return written_in_place_; }
  /// Tensors that others have taken the place of, in attributes and what lies in them, and those
  /// that are one with them in the file; attributes that hold none and were set.
  std::vector<std::string> set_names() const;
  /// Attributes that were read before they were set, be it only for their shape.
  std::vector<std::string> read_names() const;
  /// On the CPU: attributes whose tensors have other strides than before the run.
  std::vector<std::string> relaid() const;

 private:
  using Key = std::pair<const c10::ivalue::Object*, size_t>;
  struct Slot {
    c10::IValue value;
    std::string name;
    c10::IValue before;  ///< of the file; tensors on the run's device
    c10::TypePtr type;
    bool read_first = false;  ///< the run depends on `before`
    bool written = false;
  };
  using Writes = std::vector<std::pair<at::Tensor, at::Tensor>>;  ///< where, what

  Slot& slot_of(const c10::ivalue::Object* object, const std::string& name);
  void collect_writes(const Slot& slot, Writes& writes);
  void collect_in_phase(const Slot& slot, Writes& writes);
  void collect_in_phase(const at::Tensor& before, const at::Tensor& after, const std::string& path,
                        Writes& writes);
  void collect_set(const c10::IValue& file, const c10::IValue& before, const c10::IValue& after,
                   const std::string& name, std::vector<std::string>& names) const;
  void refuse_new_aliases();

  const ScriptModule& module_;
  const at::Device device_;
  std::function<at::Tensor(const at::Tensor&)> place_;
  MappedContainers before_, now_;  ///< lists and dicts that several attributes hold are one
  std::map<Key, Slot> slots_;
  std::vector<std::string> changing_numbers_, changing_forms_;
  std::vector<std::string> only_set_;
  std::set<std::string> made_one_, written_in_place_;
  bool writes_containers_ = false;
};

/// `value` with `place` on all tensors in it; lists and dicts are new ones, one for each that is
/// not in `known` yet, which remembers it. Objects are left as they are.
c10::IValue map_script_value(const c10::IValue& value,
                             const std::function<at::Tensor(const at::Tensor&)>& place,
                             MappedContainers& known);
c10::IValue map_script_value(const c10::IValue& value,
                             const std::function<at::Tensor(const at::Tensor&)>& place);

}  // namespace lazyrt
