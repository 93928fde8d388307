#include "host_tracer/frontends/torchscript/script_phases.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>

#include "host_tracer/frontends/shared/clone_in_place.h"
#include "host_tracer/frontends/torchscript/script_reference.h"
#include "host_tracer/record/trace_phases.h"
#include "host_tracer/trace/prune_trace.h"

namespace lazyrt {
namespace {

using c10::IValue;
using Names = std::set<std::string>;
using PathGroups = std::set<std::vector<std::string>>;

constexpr size_t kMostPhases = 16;
constexpr size_t kMostNamed = 4;  ///< attributes, in messages

// ---------------------------------------------------------------- a row of calls

ScriptForm form_of(const ScriptModule& module) {
  ScriptForm form;
  module.visit_attributes(
      [&](const IValue& value, const std::string& path) { add_form(value, path, form); });
  return form;
}

const void* memory_on_host(const IValue& value) {
  const bool tensor = value.isTensor() && value.toTensor().defined();
  return tensor && value.toTensor().has_storage() ? value.toTensor().storage().data() : nullptr;
}

/// Paths of attributes whose tensors share memory.
PathGroups shared_in(const ScriptModule& module) {
  std::map<const void*, std::set<std::string>> paths;
  module.visit_attributes([&](const IValue& value, const std::string& path) {
    visit_items(value, path, [&](const IValue& item, const std::string& at) {
      if (const void* memory = memory_on_host(item)) paths[memory].insert(at);
    });
  });
  PathGroups groups;
  for (const auto& [memory, names] : paths) {
    if (names.size() > 1) groups.insert({names.begin(), names.end()});
  }
  return groups;
}

std::set<const void*> memories_of(const torch::jit::Module& module) {
  std::set<const void*> memories;
  IValue(module._ivalue()).visit([&](const IValue& item) {
    if (const void* memory = memory_on_host(item)) memories.insert(memory);
    return false;
  });
  return memories;
}

/// Gives each tensor that a call has put into an attribute memory of its own: captures see no views
/// across attributes.
void separate(const torch::jit::Module& module, const std::set<const void*>& known) {
  const auto own = [&](const at::Tensor& t) {
    return known.count(memory_on_host(t)) ? t : clone_in_place(t);
  };
  std::vector<c10::intrusive_ptr<c10::ivalue::Object>> objects;
  IValue(module._ivalue()).visit([&](const IValue& item) {
    if (item.isObject()) objects.push_back(item.toObject());
    return false;
  });
  MappedContainers containers;
  for (const auto& object : objects) {
    for (size_t i = 0; i < object->slots().size(); ++i)
      object->setSlot(i, map_script_value(object->getSlot(i), own, containers));
  }
}

/// A copy of the module after the calls so far.
class Row {
 public:
  explicit Row(const PhasesRequest& request)
      : call_(request.call), module_(copy_of(request.file)) {}

  const torch::jit::Module& module() const { return module_; }

  void next() {
    const std::set<const void*> known = memories_of(module_);
    call_(module_);
    shared_ = shared_in(ScriptModule(module_));
    separate(module_, known);
  }
  /// After next(): as the call has left it.
  const PathGroups& shared() const { return shared_; }

 private:
  const std::function<void(const torch::jit::Module&)>& call_;
  torch::jit::Module module_;
  PathGroups shared_;
};

/// The form where numbers that are kept as states have any value.
ScriptForm with_states(ScriptForm form, const Names& numbers) {
  for (const std::string& name : numbers) {
    const auto found = form.find(name);
    if (found != form.end() && found->second.is_number()) found->second.text = found->second.type;
  }
  return form;
}

bool same_form(const ScriptForm& a, const ScriptForm& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return x.first == y.first && x.second.text == y.second.text;
  });
}

/// The forms that a row of calls on one sample finds.
class Forms {
 public:
  explicit Forms(const PhasesRequest& request)
      : steering_(request.steering.begin(), request.steering.end()) {
    Row row(request);
    forms_.push_back(form_of(ScriptModule(row.module())));
    in_file_ = shared_in(ScriptModule(row.module()));
    while (forms_.size() <= kMostPhases && !find_end()) {
      row.next();
      forms_.push_back(form_of(ScriptModule(row.module())));
      later_.insert(row.shared().begin(), row.shared().end());
      for (const auto& group : in_file_) {
        if (row.shared().count(group) == 0) parted_.insert(group);
      }
    }
    if (!find_end()) keep_counters();
  }

  size_t count() const { return count_; }
  /// The phase after the last one.
  size_t again() const { return again_; }
  size_t after(size_t phase) const { return phase + 1 < count_ ? phase + 1 : again_; }
  ScriptForm form(size_t phase) const { return with_states(forms_.at(phase), numbers_); }
  const Names& numbers() const { return numbers_; }

  /// Takes these numbers for states; false: one of them steers the program.
  bool keep(const Names& numbers) {
    for (const std::string& name : numbers) {
      if (steering_.count(name)) return false;
    }
    numbers_.insert(numbers.begin(), numbers.end());
    return true;
  }

  /// Whether a form recurs among the calls that were made.
  bool find_end() {
    for (count_ = 1; count_ < forms_.size(); ++count_) {
      for (again_ = 0; again_ < count_; ++again_) {
        if (same_form(form(again_), form(count_))) return true;
      }
    }
    return false;
  }

  Failure no_end() const {
    const ScriptForm &before = forms_[forms_.size() - 2], &after = forms_.back();
    std::string names;
    size_t named = 0;
    for (const auto& [path, part] : after) {
      const auto found = before.find(path);
      const bool changes = found != before.end() && found->second.text != part.text;
      if (!changes || numbers_.count(path) || named++ == kMostNamed) continue;
      names.append(names.empty() ? "'" : ", '").append(path);
      names.append("' (" + part.text + " after " + std::to_string(forms_.size() - 1) + " calls)");
    }
    return {Error::kUnsupported,
            "forward changes the attribute " + names +
                " in every call, and a bundle has at most 16 forms of attributes (None, flags, "
                "lengths, shapes, numbers that steer the program): keep tensors of fixed shape "
                "and compute with them (a ring buffer, torch.where), or return it and pass it in"};
  }

  /// A path that shares memory with another one in some calls only, and is `named` or lies in it.
  Failure* shared_failure(const Names& written) {
    for (const auto& group : parted_) return refuse(group, "share memory in the file only");
    for (const auto& group : later_) {
      const bool is_written = std::any_of(group.begin(), group.end(), [&](const std::string& path) {
        return std::any_of(written.begin(), written.end(), [&](const std::string& name) {
          return path == name || path.starts_with(name + ".");
        });
      });
      if (is_written && in_file_.count(group) == 0)
        return refuse(group, "share memory after a call, and the program writes into it in place");
    }
    return nullptr;
  }

 private:
  Failure* refuse(const std::vector<std::string>& group, const std::string& what) {
    failure_ = {Error::kUnsupported, "the attributes '" + group[0] + "' and '" + group[1] + "' " +
                                         what + ": clone() one of them where it is assigned"};
    return &failure_;
  }

  /// Numbers that have had another value in each of the last calls.
  void keep_counters() {
    constexpr size_t kLast = kMostPhases / 2;
    for (const auto& [path, part] : forms_.back()) {
      Names texts;
      for (size_t i = forms_.size() - kLast; i < forms_.size(); ++i) {
        const auto found = forms_[i].find(path);
        if (found != forms_[i].end() && found->second.is_number()) texts.insert(found->second.text);
      }
      if (texts.size() == kLast && steering_.count(path) == 0) numbers_.insert(path);
    }
  }

  const Names steering_;
  std::vector<ScriptForm> forms_;  ///< before the first call, the second, …
  size_t count_ = 0, again_ = 0;
  Names numbers_;
  PathGroups in_file_, later_, parted_;
  Failure failure_;
};

// ---------------------------------------------------------------- captures

const std::string& name_of(const Trace& trace, const TraceState& state) {
  return trace.values[static_cast<size_t>(state.leaf)].name;
}

Names state_names(const Trace& trace) {
  Names names;
  for (const TraceState& state : trace.states) names.insert(name_of(trace, state));
  return names;
}

/// What the call writes into the state: copy() takes only the shape of what was there.
TraceValueId written_value(const Trace& trace, const TraceState& state) {
  const int32_t producer = trace.values[static_cast<size_t>(state.next)].producer;
  if (producer < 0) return state.next;
  const TraceNode& node = trace.nodes[static_cast<size_t>(producer)];
  const TraceArg* source = node.op == "aten::copy" ? node.find("src") : nullptr;
  return source ? std::get<TensorArg>(*source).value : state.next;
}

Finding note(const char* id, std::string message) {
  return {Severity::kNote, id, std::move(message), "", Source()};
}

class PhasesCapturer {
 public:
  explicit PhasesCapturer(const PhasesRequest& request) : request_(request), forms_(request) {}

  Outcome<PhasesCapture> run() {
    bool again = true;
    while (again) {
      if (!forms_.find_end()) return forms_.no_end();
      traces_.clear();
      layouts_.clear();
      changing_.clear();
      LAZYRT_TRY(capture_all());
      const Names vary = varying();
      again = !changing_.empty() || (vary != varying_ && is_asked(vary));
      if (!forms_.keep(changing_)) return forms_.no_end();
      varying_ = vary;
    }
    Names written;
    for (const Trace& trace : traces_)
      written.insert(trace.written_in_place.begin(), trace.written_in_place.end());
    if (const Failure* failure = forms_.shared_failure(written)) return *failure;
    settle();
    return PhasesCapture{std::move(traces_), std::move(summary_)};
  }

 private:
  ScriptModule module_in(size_t phase, const torch::jit::Module& module) const {
    auto known = std::make_shared<ScriptPhase>();
    for (size_t i = 1; i <= forms_.count();
         ++i) {  // the file's types come last: later ones get the plain names
      for (const auto& [path, part] : forms_.form(i % forms_.count()))
        if (!part.type.empty()) known->types.emplace(path, part.type);
    }
    known->next = forms_.form(forms_.after(phase));
    ScriptModule made(module, std::move(known));
    for (const std::string& name : forms_.numbers()) made.keep_number(name);
    return made;
  }

  Outcome<Done> capture_all() {
    Row row(request_);
    for (size_t i = 0; i < forms_.count(); ++i) {
      if (i > 0) row.next();
      ScriptCapture made =
          request_.capture(module_in(i, row.module()), {varying_.begin(), varying_.end()});
      changing_.insert(made.changing_numbers.begin(), made.changing_numbers.end());
      if (!made.trace.ok()) return made.trace.failure();
      traces_.push_back(std::move(*made.trace));
      add_layout(row.module());
    }
    row.next();
    add_layout(row.module());
    return Done{};
  }

  /// Traces in which strides matter are right for samples that leave the same ones.
  void add_layout(const torch::jit::Module& module) {
    ScriptModule(module).visit_attributes([this](const IValue& value, const std::string& path) {
      visit_items(value, path, [this](const IValue& item, const std::string& at) {
        if (item.isTensor() && item.toTensor().defined())
          layouts_[at] += c10::str(item.toTensor().strides());
      });
    });
  }

  Names all_states() const {
    Names names;
    for (const Trace& trace : traces_) names.merge(state_names(trace));
    return names;
  }

  /// States that only calls before the cycle write, with what depends on no input and no state.
  Names fixed() const {
    const Names all = all_states();
    Names fixed = all;
    for (size_t i = 0; i < traces_.size(); ++i) {
      const Trace& trace = traces_[i];
      for (const TraceState& state : trace.states) {
        const std::vector<bool> live = live_values(trace, {written_value(trace, state)});
        bool varies = i >= forms_.again();
        for (size_t k = 0; k < live.size(); ++k) {
          const TraceValue& value = trace.values[k];
          varies = varies || (live[k] && (value.leaf == LeafKind::kInput || all.count(value.name)));
        }
        if (varies) fixed.erase(name_of(trace, state));
      }
    }
    return fixed;
  }

  Names varying() const {
    Names names = all_states();
    for (const std::string& name : fixed()) names.erase(name);
    return names;
  }

  /// Whether a trace has taken one of these for a constant.
  bool is_asked(const Names& names) const {
    return std::any_of(traces_.begin(), traces_.end(), [&](const Trace& trace) {
      return std::any_of(trace.asked.begin(), trace.asked.end(),
                         [&](const AskedConstant& asked) { return names.count(asked.name); });
    });
  }

  // ------------------------------------------------------------ variants

  void settle() {
    for (size_t i = 0; i < forms_.count(); ++i) {
      for (const auto& [path, part] : forms_.form(i)) summary_ += path + "=" + part.text + ";";
      summary_ += "\n";
    }
    const Names known = fixed();
    const bool layouts_matter = std::any_of(traces_.begin(), traces_.end(),
                                            [](const Trace& t) { return t.layouts_matter; });
    for (const auto& [path, strides] : layouts_) {
      if (layouts_matter) summary_ += path + " lies in " + strides + ";";
    }
    for (Trace& trace : traces_) {
      trace.relaid.clear();  // each is captured with the strides that it finds
      std::erase_if(trace.asked, [&](const AskedConstant& a) { return known.count(a.name) > 0; });
    }
    share_initial(varying());
    for (const Trace& trace : traces_) summarize(trace, known);
    if (forms_.count() > 1 && !keep_last_alone(known)) make_phases(known);
  }

  /// What the calls before the cycle have made has to be the same in all samples.
  void summarize(const Trace& trace, const Names& known) {
    for (const TraceValue& value : trace.values) {
      if (known.count(value.name) == 0) continue;
      const std::string bytes(reinterpret_cast<const char*>(value.constant.data),
                              value.constant.bytes);
      summary_ += value.name + "=" + std::to_string(std::hash<std::string>()(bytes)) + ";";
    }
  }

  /// The traces begin with these states as they are in the file.
  void share_initial(const Names& names) {
    std::map<std::string, SampleTensor> contents;
    const ScriptModule file = module_in(0, request_.file);
    for (const NamedTensor& buffer : file.buffers()) {
      const at::Tensor& t = buffer.tensor;
      contents[buffer.name] = to_sample(t.is_complex() ? at::view_as_real(t.resolve_conj()) : t);
    }
    for (const NamedTensor& parameter : file.parameters())
      contents[parameter.name] = to_sample(parameter.tensor);
    file.visit_attributes([&](const IValue& value, const std::string& path) {
      if (!value.isScalar() || file.kept_numbers().count(path) == 0) return;
      const at::Tensor number = number_tensor(value);
      contents[file.phase()->state_name(path, number)] = to_sample(number);
    });
    for (const Trace& trace : traces_) {
      for (const TraceState& state : trace.states) {
        const TraceValue& value = trace.values[static_cast<size_t>(state.leaf)];
        const auto type = at::dtype(to_scalar_type(value.dtype));
        if (contents.count(value.name) == 0)
          contents[value.name] = to_sample(at::zeros(value.shape, type));
      }
    }
    for (const std::string& name : names) {
      for (Trace& trace : traces_) set_initial(trace, name, contents.at(name));
    }
  }

  /// If all calls compute the same, the bundle is the program as it is at last.
  bool keep_last_alone(const Names& known) {
    if (forms_.after(forms_.count() - 1) + 1 != forms_.count()) return false;
    const std::vector<std::string> names(known.begin(), known.end());
    for (const Trace& trace : traces_) {
      if (!compute_the_same(trace, traces_.back(), names)) return false;
    }
    Trace last = std::move(traces_.back());
    last.findings.push_back(note("settled", "the first call changes " + changed_at_first() +
                                                ", and later ones compute the same with it: the "
                                                "bundle is the program as it is then"));
    last.sample_outputs = traces_[0].sample_outputs;
    last.eager = traces_[0].eager;
    summary_ += "settled";
    traces_.clear();
    traces_.push_back(std::move(last));
    return true;
  }

  std::string changed_at_first() const {
    const ScriptForm before = forms_.form(0), after = forms_.form(forms_.after(0));
    std::string names;
    size_t named = 0;
    for (const auto& [path, part] : before) {
      const auto found = after.find(path);
      if (found != after.end() && found->second.text == part.text) continue;
      if (named++ < kMostNamed) names += (names.empty() ? "'" : ", '") + path + "'";
    }
    return names;
  }

  void make_phases(const Names& known) {
    share_initial(all_states());
    const Names vary = varying();
    for (size_t i = 0; i < traces_.size(); ++i) {
      drop_known_guards(traces_[i], {known.begin(), known.end()}, {vary.begin(), vary.end()});
      set_phase(traces_[i], static_cast<int64_t>(i), static_cast<int64_t>(forms_.after(i)));
      if (i == 0) continue;
      traces_[i].sample_outputs.clear();
      traces_[i].eager = nullptr;
    }
    note_first_inputs(known);
    drop_unread();
  }

  /// States that the calls before the cycle compute, and later ones only read.
  void note_first_inputs(const Names& known) {
    Names early, late = known;
    for (size_t i = 0; i < traces_.size(); ++i)
      (i < forms_.again() ? early : late).merge(state_names(traces_[i]));
    for (const std::string& name : early) {
      if (late.count(name) || name == kPhaseState) continue;
      traces_[0].findings.push_back(
          note("data-dependent-init", "'" + name +
                                          "' gets its value from the input of the first call and "
                                          "keeps it: so it is in the bundle, after each reset of "
                                          "its states"));
    }
  }

  void drop_unread() {
    Names hidden = all_states();
    hidden.erase(kPhaseState);
    for (const auto& buffer : request_.file.named_buffers()) hidden.erase(buffer.name);
    std::vector<Trace*> all;
    for (Trace& trace : traces_) all.push_back(&trace);
    for (const std::string& name : drop_unread_states(all, {hidden.begin(), hidden.end()})) {
      summary_ += name + " is left out;";
      traces_[0].findings.push_back(note("only-written", "what the program keeps in '" + name +
                                                             "' is never read: the bundle leaves "
                                                             "it out"));
    }
  }

  const PhasesRequest& request_;
  Forms forms_;
  std::vector<Trace> traces_;
  Names changing_;                              ///< numbers, in the last captures
  Names varying_;                               ///< states, as far as the last captures knew
  std::map<std::string, std::string> layouts_;  ///< by path: strides, one call after the other
  std::string summary_;
};

}  // namespace

Outcome<PhasesCapture> capture_phases(const PhasesRequest& request) {
  return PhasesCapturer(request).run();
}

}  // namespace lazyrt
