#include "host_tracer/frontends/shared/program_outputs.h"

#include <ATen/core/Dict.h>
#include <ATen/core/jit_type.h>
#include <c10/util/Exception.h>

#include <cmath>
#include <unordered_set>

namespace lazyrt {
namespace {

std::string key_text(const c10::IValue& key) {
  if (key.isString()) return key.toStringRef();
  if (key.isInt()) return std::to_string(key.toInt());
  TORCH_CHECK(false, "a dict among the outputs has a key of type ", key.tagKind(),
              "; keys can be strings and integers");
}

bool is_leaf(const c10::IValue& value) {
  return value.isTensor() || value.isInt() || value.isDouble() || value.isBool();
}

void flatten_into(const c10::IValue& value, const std::string& name, std::vector<NamedValue>& out) {
  if (value.isNone()) return;
  if (is_leaf(value)) {
    out.push_back({name, value});
  } else if (value.isTuple()) {
    const auto tuple = value.toTuple();
    const auto type = tuple->type();
    for (size_t i = 0; i < tuple->size(); ++i) {
      const std::string part =
          type->schema() ? type->schema()->arguments()[i].name() : std::to_string(i);
      flatten_into(tuple->elements()[i], name + "." + part, out);
    }
  } else if (value.isList()) {
    const auto items = value.toListRef();
    for (size_t i = 0; i < items.size(); ++i) {
      flatten_into(items[i], name + "." + std::to_string(i), out);
    }
  } else if (value.isGenericDict()) {
    for (const auto& entry : value.toGenericDict()) {
      flatten_into(entry.value(), name + "." + key_text(entry.key()), out);
    }
  } else {
    TORCH_CHECK(false, "output '", name, "' is a ", value.type()->repr_str(),
                "; outputs can be tensors, numbers, None, and tuples, lists and dicts of them");
  }
}

std::optional<SeenNumber> number_of(const c10::IValue& value) {
  if (value.isBool()) return value.toBool();
  if (value.isInt()) return value.toInt();
  if (value.isDouble()) return value.toDouble();
  return std::nullopt;
}

bool same_number(const std::optional<SeenNumber>& a, const std::optional<SeenNumber>& b) {
  const auto is_nan = [](const std::optional<SeenNumber>& n) {
    return n && std::holds_alternative<double>(*n) && std::isnan(std::get<double>(*n));
  };
  return a == b || (is_nan(a) && is_nan(b));
}

Finding baked_output(const std::string& name) {
  return {
      Severity::kError, "baked-output",
      "output '" + name +
          "' is a number that depends on the inputs; the bundle would always return the sample's",
      "return it as a tensor", Source{}};
}

}  // namespace

std::vector<NamedValue> flatten_outputs(const c10::IValue& value, const std::string& name) {
  std::vector<NamedValue> out;
  flatten_into(value, name, out);
  std::unordered_set<std::string> names;
  for (const NamedValue& leaf : out) {
    TORCH_CHECK(names.insert(leaf.name).second, "two outputs have the name '", leaf.name,
                "': a key of a dict among the outputs holds a '.'; give it another key");
  }
  return out;
}

std::vector<at::Tensor> ProgramOutputs::take(std::vector<NamedValue> values) {
  std::vector<Slot> slots;
  std::vector<at::Tensor> tensors;
  for (NamedValue& named : values) {
    slots.push_back({named.name, named.value.isTensor(), number_of(named.value)});
    if (named.value.isTensor()) tensors.push_back(named.value.toTensor());
  }
  if (slots_.empty()) {
    slots_ = std::move(slots);
  } else if (slots_ == slots) {
    for (size_t i = 0; i < slots.size(); ++i) {
      slots_[i].differs = slots_[i].differs || !same_number(slots_[i].number, slots[i].number);
    }
  } else {
    other_structure_ = true;
  }
  return tensors;
}

void ProgramOutputs::put_back(Trace& trace) const {
  std::vector<TraceOutput> outputs;
  size_t next = 0;
  for (const Slot& slot : slots_) {
    TraceOutput output;
    if (slot.is_tensor) {
      TORCH_CHECK(next < trace.outputs.size(), "the trace lacks the output '", slot.name, "'");
      output = trace.outputs[next++];
    }
    output.name = slot.name;
    if (slot.number) output.literal = slot.number;
    if (slot.differs) trace.findings.push_back(baked_output(slot.name));
    outputs.push_back(std::move(output));
  }
  TORCH_CHECK(next == trace.outputs.size(), "the trace has more outputs than the program");
  if (other_structure_) {
    trace.findings.push_back({Severity::kWarning, "output-structure",
                              "how many outputs there are depends on the inputs' values",
                              "return the same structure on every path", Source{}});
  }
  trace.outputs = std::move(outputs);
}

}  // namespace lazyrt
