#include "host_tracer/compile/sized_traces.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <utility>

#include "host_tracer/dynamic/unify.h"
#include "host_tracer/trace/eager_reference.h"

namespace lazyrt {
namespace {

constexpr int64_t kMostBytes = int64_t{1} << 32;
constexpr size_t kDrawnSizes = 3;  ///< to be compared, beside both ends
constexpr uint64_t kSeed = 1;

int64_t product(const std::vector<int64_t>& sizes, size_t begin, size_t end) {
  int64_t n = 1;
  for (size_t i = begin; i < end; ++i) n *= sizes[i];
  return n;
}

/// Whether the bytes of a later capture are among those that exist already.
bool is_same(const TraceValue& a, const TraceValue& b) {
  return a.leaf == b.leaf && a.dtype == b.dtype && a.shape == b.shape &&
         a.constant.data != nullptr && same_bytes(a.constant, b.constant);
}

std::string errors_of(const Trace& trace) {
  std::string text;
  for (const Finding& finding : trace.findings) {
    if (finding.severity != Severity::kError) continue;
    const std::string where = finding.source.text();
    text +=
        "\n  " + finding.message + " [" + finding.id + "]" + (where.empty() ? "" : " at " + where);
  }
  return text;
}

class SizesCapture {
 public:
  SizesCapture(const Trace& sample, const SizedCapture& program, const DynamicShapes& shapes)
      : sample_(sample), program_(program), shapes_(shapes) {}

  Outcome<Trace> at(const SizePoint& point, bool compared) const {
    const std::string sizes = "at " + shapes_.text(point);
    auto inputs = inputs_at(point, shapes_, sample_);
    if (!inputs.ok()) return Failure{inputs.failure().error, sizes + ": " + inputs.failure().text};
    Outcome<Trace> trace = program_.capture(*inputs, compared);
    if (!trace.ok()) return explained(sizes, *inputs, trace.failure());
    if (verdict_of(*trace) == Verdict::kBroken) {
      return Failure{Error::kUnsupported, sizes + " the trace is BROKEN:" + errors_of(*trace)};
    }
    share_constants(sample_, &*trace);
    if (!compared) {
      trace->eager.reset();
      trace->sample_inputs.clear();
      trace->sample_outputs.clear();
    }
    return trace;
  }

 private:
  /// Explains a failed capture: either the program itself raises, or does not take such sizes, or
  /// something else failed.
  Failure explained(const std::string& sizes, const std::vector<SampleTensor>& inputs,
                    const Failure& failure) const {
    const bool refused = failure.error == Error::kInvalidArgument;
    const bool raises =
        !refused && sample_.eager && !sample_.eager->call(inputs, true).raised.empty();
    if (!refused && !raises) return {failure.error, sizes + ": " + failure.text};
    return {Error::kInvalidArgument, sizes + (raises ? " the program raises: " : ": ") +
                                         failure.text +
                                         "\nNarrow the range to sizes that the program takes, or "
                                         "say what they are multiples of"};
  }

  const Trace& sample_;
  const SizedCapture& program_;
  const DynamicShapes& shapes_;
};

/// The capture at a sample's sizes, to be compared on that sample's own inputs.
Trace of_sample(const Trace& trace, const SampleInputs& inputs, size_t number) {
  Trace own = trace;
  own.sample_inputs = inputs;
  own.sample_outputs.clear();
  if (!trace.eager) return own;
  auto eager = std::make_shared<EagerReference>(*trace.eager);
  eager->sample = "sample " + std::to_string(number);
  own.eager = std::move(eager);
  return own;
}

/// The points to capture at, and which of them are compared.
std::vector<std::pair<SizePoint, bool>> all_points(const DynamicExport& dynamic,
                                                   const std::vector<SampleInputs>& more) {
  auto checked = check_points(dynamic.shapes.symbols, kDrawnSizes, kSeed);
  for (const SampleInputs& inputs : more) {
    const SizePoint point = point_of(dynamic.shapes, inputs);
    if (!contains(checked, point)) checked.push_back(point);
  }
  std::vector<std::pair<SizePoint, bool>> points;
  for (const SizePoint& point : dynamic.points)
    points.emplace_back(point, contains(checked, point));
  for (const SizePoint& point : checked) {
    if (!contains(dynamic.points, point) && point != dynamic.sample)
      points.emplace_back(point, true);
  }
  return points;
}

}  // namespace

void share_constants(const Trace& first, Trace* trace) {
  std::map<std::string, const TraceValue*> known;
  for (const TraceValue& value : first.values) {
    if (value.constant.data && !value.name.empty()) known.emplace(value.name, &value);
  }
  for (TraceValue& value : trace->values) {
    const auto found = known.find(value.name);
    if (found != known.end() && is_same(*found->second, value)) {
      value.constant = found->second->constant;
    }
  }
}

void note_untried(const DynamicShapes& shapes, std::vector<SizePoint> tried, Trace* trace) {
  std::sort(tried.begin(), tried.end());
  tried.erase(std::unique(tried.begin(), tried.end()), tried.end());
  double allowed = 1;
  for (const DimSymbol& symbol : shapes.symbols) allowed *= static_cast<double>(symbol.count());
  if (static_cast<double>(tried.size()) >= allowed) return;
  char count[32];
  std::snprintf(count, sizeof count, "%.0f", allowed);
  Finding finding;
  finding.severity = Severity::kWarning;
  finding.id = "untried-sizes";
  finding.message = std::string("extents vary: of ") + count + " sizes the program was tried at " +
                    std::to_string(tried.size()) +
                    " and at some drawn ones; it is assumed to do the same at the others";
  trace->findings.push_back(std::move(finding));
}

Outcome<SampleTensor> stretched(const SampleTensor& tensor, size_t dim, int64_t size) {
  const int64_t old = tensor.shape[dim];
  if (old == size) return tensor;
  if (old == 0) {
    return Failure{Error::kInvalidArgument,
                   "an empty dim cannot be resized: give a sample with elements in it"};
  }
  const int64_t inner = product(tensor.shape, dim + 1, tensor.shape.size()) *
                        static_cast<int64_t>(dtype_size(tensor.dtype));
  const int64_t outer = product(tensor.shape, 0, dim);
  if (inner * outer > 0 && size > kMostBytes / (inner * outer)) {
    return Failure{Error::kLimitExceeded, "an input is larger than 4 GiB"};
  }
  SampleTensor result = tensor;
  result.shape[dim] = size;
  result.data.bytes = static_cast<size_t>(outer * size * inner);
  const std::shared_ptr<uint8_t[]> bytes(new uint8_t[std::max<size_t>(result.data.bytes, 1)]);
  const auto steps = static_cast<double>(std::max<int64_t>(size - 1, 1));
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t i = 0; i < size; ++i) {
      const auto from =
          static_cast<int64_t>(std::nearbyint(static_cast<double>(i * (old - 1)) / steps));
      std::memcpy(bytes.get() + (o * size + i) * inner, tensor.data.data + (o * old + from) * inner,
                  static_cast<size_t>(inner));
    }
  }
  result.data.data = bytes.get();
  result.data.owner = bytes;
  return result;
}

Outcome<std::vector<SampleTensor>> inputs_at(const SizePoint& point, const DynamicShapes& shapes,
                                             const Trace& sample) {
  std::vector<SampleTensor> inputs = sample.sample_inputs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    for (size_t d = 0; d < shapes.dims[i].size(); ++d) {
      if (shapes.dims[i][d].symbol < 0) continue;
      auto input = stretched(inputs[i], d, shapes.dims[i][d].at(point));
      if (!input.ok()) return input.failure();
      inputs[i] = std::move(*input);
    }
  }
  return inputs;
}

Outcome<SizedTraces> capture_sizes(Trace sample, const std::vector<DynamicDim>& dims,
                                   const SizedCapture& program,
                                   const std::vector<SampleInputs>& more) {
  auto places = places_in(dims, sample);
  if (!places.ok()) return places.failure();
  auto shapes = symbols_of(*places, sample, more);
  if (!shapes.ok()) return shapes.failure();
  if (sample.sample_inputs.size() != sample.inputs.size()) {
    return Failure{Error::kInvalidArgument,
                   "dims that vary need a sample whose inputs can be resized"};
  }
  SizedTraces result;
  result.dynamic = {*shapes, point_of(*shapes, sample), fit_points(shapes->symbols)};
  const SizesCapture sizes(sample, program, *shapes);
  const auto points = all_points(result.dynamic, more);
  const auto kept = std::make_shared<const Trace>(sample);
  result.dynamic.capture_at = [kept, program, shapes = *shapes](const SizePoint& point,
                                                                bool compared) {
    return SizesCapture(*kept, program, shapes).at(point, compared);
  };
  std::vector<Trace> others;
  std::vector<SizePoint> tried = {result.dynamic.sample};
  for (const auto& [point, compared] : points) {
    if (program.progress) {
      program.progress(static_cast<int64_t>(others.size()), static_cast<int64_t>(points.size()));
    }
    auto trace = sizes.at(point, compared);
    if (!trace.ok()) return trace.failure();
    others.push_back(std::move(*trace));
    tried.push_back(point);
  }
  result.traces.push_back(std::move(sample));
  for (size_t i = 0; i < more.size(); ++i) {
    const auto at = std::find(tried.begin(), tried.end(), point_of(*shapes, more[i]));
    const auto k = static_cast<size_t>(at - tried.begin());
    others.push_back(of_sample(k == 0 ? result.traces[0] : others[k - 1], more[i], i + 1));
  }
  note_untried(*shapes, std::move(tried), &result.traces[0]);
  std::move(others.begin(), others.end(), std::back_inserter(result.traces));
  return result;
}

}  // namespace lazyrt
