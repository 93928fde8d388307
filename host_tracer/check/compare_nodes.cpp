#include "host_tracer/check/compare_nodes.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "host_tracer/check/expected_values.h"
#include "host_tracer/compile/program_alignment.h"
#include "host_tracer/record/capture.h"
#include "host_tracer/report/bundle_info.h"
#include "host_tracer/report/shared_texts.h"

namespace lazyrt {
namespace {

/// A value that a tap took.
struct TakenValue {
  TapPoint point;
  SampleTensor tensor;
};

SampleTensor copy_of(const TensorView& view) {
  const size_t bytes = view.bytes();
  const std::shared_ptr<uint8_t[]> copy(new uint8_t[std::max<size_t>(bytes, 1)]);
  if (bytes > 0) std::memcpy(copy.get(), view.data, bytes);
  SampleTensor tensor{view.dtype, {view.shape.begin(), view.shape.end()}, {}};
  tensor.data = {copy, copy.get(), bytes};
  return tensor;
}

/// The bundle, run once with everything tapped.
struct TappedRun {
  std::vector<TakenValue> values;
  std::vector<std::string> backends;  ///< by node of the variant
  size_t variant = 0;
  Status status;

  static void take(void* self, const TapPoint& point, const TensorView& value) {
    static_cast<TappedRun*>(self)->values.push_back({point, copy_of(value)});
  }

  Status run(const Method& method, const std::vector<SampleTensor>& inputs,
             const CompareOptions& options) {
    Watch watch;
    watch.context = this;
    watch.take = take;
    SessionOptions session_options;
    session_options.backend = options.backend != nullptr ? options.backend : cpu_backend();
    session_options.threads = options.threads;
    session_options.watch = &watch;
    auto session = Session::create(method, session_options);
    if (!session.ok()) return session.status();
    for (size_t i = 0; i < inputs.size(); ++i) {
      TensorView view{const_cast<uint8_t*>(inputs[i].data.data), inputs[i].dtype, {}};
      for (const int64_t extent : inputs[i].shape) view.shape.append(extent);
      LAZYRT_RETURN_IF_ERROR(session->set_input(i, view));
    }
    status = session->run();
    find_variant(*session);
    for (size_t i = 0; i < session->node_count(); ++i) {
      const NodeInfo node = *session->node(i);
      if (!node.is_copy && node.variant == variant) backends.emplace_back(node.backend);
    }
    return {};
  }

  /// Finds the variant that ran or, after a failed run, the last one that was tried.
  void find_variant(const Session& session) {
    const auto ran = session.variant();
    if (ran.ok()) {
      variant = *ran;
    } else if (!values.empty()) {
      variant = values.back().point.variant;
    }
  }
};

const fb::Method& program_of(const LoadedBundle& bundle, size_t variant) {
  const fb::Method& method = *bundle.sections().bundle->methods()->Get(0);
  if (variant == 0) return method;
  return *method.variants()->Get(static_cast<uint32_t>(variant - 1));
}

Source source_of(const fb::Method& program, size_t node, SharedTexts* texts) {
  const int32_t index = program.nodes()->Get(static_cast<uint32_t>(node))->source();
  if (index < 0) return {};
  const fb::Source& source = *program.sources()->Get(static_cast<uint32_t>(index));
  return {texts->take(source.module_path()), texts->take(source.file()), source.line(),
          texts->take(source.aten())};
}

std::string tensor_type(const SampleTensor& tensor) {
  std::string text = dtype_name(tensor.dtype) + std::string("[");
  for (size_t d = 0; d < tensor.shape.size(); ++d)
    text += (d > 0 ? "," : "") + std::to_string(tensor.shape[d]);
  return text + "]";
}

class ValueComparer {
 public:
  ValueComparer(const LoadedBundle& bundle, const Trace& trace, const CompareOptions& options)
      : bundle_(bundle), options_(options) {
    groups_.push_back({trace, {0}});
    for (const SampleTensor& sample : trace.sample_inputs) inputs_.push_back(from_sample(sample));
  }

  Outcome<NodeComparison> run() {
    const Trace& trace = groups_[0].trace;
    const Method method = bundle_.program().method(size_t{0});
    LAZYRT_TRY(check_interface(method));
    report("run the bundle");
    const Status made = run_.run(method, trace.sample_inputs, options_);
    if (!made.ok()) return made;
    if (!run_.status.ok()) result_.run_failed = run_.status.message();
    result_.method = method.name();
    result_.variant = run_.variant;
    report("export again");
    const bool any_size = method.symbol_count() != 0;
    auto graph = make_graph(trace, default_ops(), default_pipeline(), any_size);
    if (!graph.ok()) return graph.failure();
    const fb::Method& program = program_of(bundle_, run_.variant);
    const ProgramAlignment aligned = align_program(*graph, program, any_size);
    result_.is_exact = aligned.is_exact;
    report("evaluate by ATen");
    const EagerWobble wobble(groups_, {{inputs_, 0}}, options_.seed);
    ExpectedValues expected(trace, *graph, wobble, inputs_);
    LAZYRT_TRY(expected.make());
    compare_all(program, *graph, aligned, expected);
    return std::move(result_);
  }

 private:
  Outcome<Done> check_interface(const Method& method) const {
    const auto& inputs = groups_[0].trace.sample_inputs;
    if (inputs.size() != groups_[0].trace.inputs.size())
      return Failure{Error::kInvalidArgument, "the model carries no sample inputs: give them"};
    if (inputs.size() == method.input_count()) return Done{};
    return Failure{Error::kInvalidArgument,
                   "the bundle has " + std::to_string(method.input_count()) +
                       " inputs, the model " + std::to_string(inputs.size())};
  }

  void report(const char* stage) const {
    if (options_.progress) options_.progress(std::string("compare: ") + stage, 0, 0);
  }

  void compare_all(const fb::Method& program, const Graph& graph, const ProgramAlignment& aligned,
                   ExpectedValues& expected) {
    const std::vector<std::string> names = node_names(program);
    SharedTexts texts;
    for (const TakenValue& taken : run_.values) {
      if (taken.point.variant != run_.variant) continue;
      if (options_.progress) {
        options_.progress("compare", static_cast<int64_t>(taken.point.node),
                          static_cast<int64_t>(names.size()));
      }
      ComparedValue line;
      line.node = taken.point.node;
      line.result = taken.point.result;
      line.value = taken.point.value;
      line.name = names[line.node];
      if (line.result != 0) line.name += ":" + std::to_string(line.result);
      line.op = taken.point.op;
      line.backend = run_.backends[line.node];
      line.type = tensor_type(taken.tensor);
      line.source = source_of(program, line.node, &texts);
      if (aligned.node[line.node]) {
        const Node& node = graph.nodes()[*aligned.node[line.node]];
        compare(taken.tensor, node.outputs[line.result], expected, line);
      } else {
        line.why = aligned.reason[line.node];
      }
      count(program, line);
      result_.values.push_back(std::move(line));
    }
  }

  void compare(const SampleTensor& taken, ValueId id, ExpectedValues& expected,
               ComparedValue& line) const {
    const at::Tensor wanted = expected.of(id, &line.why);
    if (!wanted.defined()) return;
    const at::Tensor ours = from_sample(taken);
    const at::Tensor eager = wanted.to(ours.scalar_type()).contiguous();
    if (eager.sizes() != ours.sizes()) {
      line.why = "a new export of the model gives it another shape";
      return;
    }
    line.expected = expected.is_eager(id) ? ExpectedBy::kEager : ExpectedBy::kReference;
    if (options_.relative > 0) return compare_relative(ours, eager, line);
    Comparison found = compare_results(ours, eager, {});
    if (!found.ok) found = compare_results(ours, eager, expected.wobble_of(id));
    if (!found.ok && !result_.is_exact) compare_neighbours(ours, id, expected, &found);
    line.ok = found.ok;
    line.max_error = found.max_absolute;
    line.max_value = found.max_value;
    line.of_bound = found.of_bound;
    line.worst = found.worst;
  }

  /// A node of another exporter version may do less or more than its pair does.
  static void compare_neighbours(const at::Tensor& ours, ValueId id, ExpectedValues& expected,
                                 Comparison* found) {
    for (const TraceValueId value : expected.neighbours(id)) {
      const at::Tensor other = expected.neighbour(id, value).contiguous();
      if (other.sizes() != ours.sizes() || other.scalar_type() != ours.scalar_type()) continue;
      Comparison with_other = compare_results(ours, other, {});
      if (!with_other.ok)
        with_other = compare_results(ours, other, expected.wobble_of_neighbour(id, value));
      if (!with_other.ok) continue;
      *found = with_other;
      return;
    }
  }

  /// Checks finite elements within `relative` of the largest, and others for equality.
  void compare_relative(const at::Tensor& ours, const at::Tensor& eager,
                        ComparedValue& line) const {
    const Comparison strict = compare_results(ours, eager, {});
    line.max_error = strict.max_absolute;
    line.max_value = strict.max_value;
    line.worst = strict.worst;
    if (!at::isFloatingType(eager.scalar_type())) {
      line.ok = strict.ok;
      line.of_bound = strict.of_bound;
      return;
    }
    const at::Tensor finite = at::isfinite(eager);
    const bool same_places = at::equal(finite, at::isfinite(ours));
    const double allowed = options_.relative * strict.max_value;
    line.of_bound = allowed > 0               ? strict.max_absolute / allowed
                    : strict.max_absolute > 0 ? INFINITY
                                              : 0;
    line.ok = same_places && line.of_bound <= 1;
  }

  void count(const fb::Method& program, ComparedValue& line) {
    if (line.expected == ExpectedBy::kNothing) return;
    ++result_.compared;
    result_.by_eager += line.expected == ExpectedBy::kEager ? 1 : 0;
    if (line.ok) return;
    for (const int32_t id :
         ints_of(program.nodes()->Get(static_cast<uint32_t>(line.node))->inputs()))
      line.operands_ok = line.operands_ok && differing_.count(id) == 0;
    differing_.insert(static_cast<int32_t>(line.value));
    if (!result_.first) result_.first = result_.values.size();
  }

  const LoadedBundle& bundle_;
  const CompareOptions& options_;
  std::vector<TraceGroup> groups_;
  std::vector<at::Tensor> inputs_;
  TappedRun run_;
  std::set<int32_t> differing_;  ///< ids of values
  NodeComparison result_;
};

}  // namespace

std::string ComparedValue::place() const {
  const std::string where = source.text();
  std::string text = "node " + std::to_string(node) + ", " + name;
  if (source.aten.empty() && where.empty()) return text;
  text += " (" + source.aten;
  if (!where.empty()) text += (source.aten.empty() ? "" : " at ") + where;
  return text + ")";
}

Outcome<NodeComparison> compare_nodes(const LoadedBundle& bundle, const Trace& trace,
                                      const CompareOptions& options) {
  try {
    const at::NoGradGuard no_grad;
    return ValueComparer(bundle, trace, options).run();
  } catch (const c10::Error& e) {
    return Failure{Error::kInternal,
                   std::string("the comparison failed: ") + e.what_without_backtrace()};
  }
}

}  // namespace lazyrt
