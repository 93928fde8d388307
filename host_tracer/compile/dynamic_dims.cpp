#include "host_tracer/compile/dynamic_dims.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace lazyrt {
namespace {

constexpr int64_t kMostSize = std::numeric_limits<int32_t>::max();

Failure invalid(const std::string& text) { return {Error::kInvalidArgument, text}; }

const TraceValue& input_value(const Trace& trace, size_t index) {
  return trace.values[static_cast<size_t>(trace.inputs[index])];
}

std::optional<size_t> find_input(const Trace& trace, const std::string& name) {
  for (size_t i = 0; i < trace.inputs.size(); ++i) {
    if (input_value(trace, i).name == name) return i;
  }
  return std::nullopt;
}

std::string input_names(const Trace& trace) {
  std::string text;
  for (size_t i = 0; i < trace.inputs.size(); ++i) {
    text += (i > 0 ? ", " : "") + input_value(trace, i).name;
  }
  return text;
}

/// Bounds that were given; 0 for those that were not.
struct Bounds {
  int64_t min = 0, max = 0, multiple = 1;
};

Outcome<Done> add_bounds(const DynamicDim& dim, Bounds* bounds) {
  const std::string where = "'" + dim.symbol + "' (" + dim.place() + ")";
  if (dim.factor < 1 || dim.factor > kMostSize || std::abs(dim.offset) > kMostSize) {
    return invalid(where + ": a multiple of " + std::to_string(dim.factor) + " and " +
                   std::to_string(dim.offset) + " is no extent");
  }
  if (dim.min && *dim.min < 1) return invalid(where + ": the smallest size is 1");
  if (dim.multiple < 1) return invalid(where + ": the multiple is less than 1");
  if (dim.max.value_or(1) > kMostSize || dim.multiple > kMostSize) {
    return invalid(where + ": the largest size is " + std::to_string(kMostSize));
  }
  if (dim.min && dim.max && *dim.min > *dim.max) {
    return invalid(where + ": from " + std::to_string(*dim.min) + " to " +
                   std::to_string(*dim.max) + " there is no size");
  }
  if (dim.min) bounds->min = std::max(bounds->min, *dim.min);
  // At least one element.
  bounds->min = std::max(bounds->min, (dim.factor - dim.offset) / dim.factor);
  if (dim.max) bounds->max = bounds->max > 0 ? std::min(bounds->max, *dim.max) : *dim.max;
  bounds->multiple = std::lcm(bounds->multiple, dim.multiple);
  if (bounds->multiple <= kMostSize) return Done{};
  return invalid(where + ": no size in the range satisfies all of its multiples");
}

Outcome<DimSymbol> make_symbol(const DynamicDim& dim, const Bounds& bounds) {
  if (bounds.max <= 0) {
    return invalid("'" + dim.symbol + "' has no upper bound: give " + dim.input + "." +
                   std::to_string(dim.dim) + "=" + dim.symbol +
                   ":1..MAX, or samples of several sizes");
  }
  const int64_t m = bounds.multiple;
  DimSymbol symbol;
  symbol.name = dim.symbol;
  symbol.multiple = m;
  symbol.min = (std::max<int64_t>(bounds.min, 1) + m - 1) / m * m;
  symbol.max = bounds.max / m * m;
  if (symbol.min <= symbol.max) return symbol;
  return invalid("'" + dim.symbol + "' has no size: " + symbol.text());
}

using InputShapes = std::vector<std::vector<int64_t>>;

/// The sample's, or another one's.
struct NamedShapes {
  std::string name;  ///< "the sample", "sample 1"
  InputShapes shapes;
};

InputShapes shapes_of(const Trace& trace) {
  InputShapes shapes;
  for (size_t i = 0; i < trace.inputs.size(); ++i) shapes.push_back(input_value(trace, i).shape);
  return shapes;
}

InputShapes shapes_of(const SampleInputs& inputs) {
  InputShapes shapes;
  for (const SampleTensor& input : inputs) shapes.push_back(input.shape);
  return shapes;
}

/// Returns the size of a symbol, on which all of its dims have to agree.
Outcome<int64_t> size_in(const NamedShapes& sample, const std::vector<const DynamicDim*>& dims,
                         const Trace& first) {
  int64_t size = 0;
  for (const DynamicDim* dim : dims) {
    const size_t input = *find_input(first, dim->input);
    const int64_t extent = sample.shapes[input][static_cast<size_t>(dim->dim)];
    const DimExtent rule(0, dim->factor, dim->offset);
    const auto given = rule.solve(extent);
    if (!given) {
      return invalid(dim->place() + " is " + std::to_string(extent) + " in " + sample.name +
                     ", which is " + rule.text(dim->symbol) + " of no '" + dim->symbol + "'");
    }
    if (dim == dims[0]) size = *given;
    if (*given == size) continue;
    return invalid("'" + dim->symbol + "' is " + std::to_string(size) + " in " + sample.name +
                   "'s " + dims[0]->place() + ", and " + std::to_string(*given) + " in " +
                   dim->place());
  }
  return size;
}

/// Derives bounds for a symbol without an upper bound if it has several sizes.
void add_seen(const std::vector<int64_t>& sizes, Bounds* bounds) {
  const auto [least, most] = std::minmax_element(sizes.begin(), sizes.end());
  if (bounds->max > 0 || *least == *most) return;
  bounds->min = std::max(bounds->min, *least);
  bounds->max = *most;
}

/// Checks that inputs have the dtype and rank of the first sample's, and its size in dims that do
/// not vary.
Outcome<Done> check_inputs(const SampleInputs& inputs, const std::string& name, const Trace& first,
                           const DynamicShapes& shapes) {
  if (inputs.size() != first.inputs.size()) return invalid(name + " has other inputs");
  for (size_t i = 0; i < inputs.size(); ++i) {
    const TraceValue& value = input_value(first, i);
    std::string text = "input '" + value.name + "'";
    if (inputs[i].dtype != value.dtype || inputs[i].shape.size() != value.shape.size())
      return invalid(text.append(" has another type or rank in ")
                         .append(name)
                         .append(" than in the first sample"));
    for (size_t d = 0; d < value.shape.size(); ++d) {
      if (shapes.dims[i][d].symbol >= 0 || inputs[i].shape[d] == value.shape[d]) continue;
      return invalid(text.append(", dim ")
                         .append(std::to_string(d))
                         .append(" is ")
                         .append(std::to_string(value.shape[d]))
                         .append(" in the first sample and ")
                         .append(std::to_string(inputs[i].shape[d]))
                         .append(" in ")
                         .append(name)
                         .append(", and it is not among the dims that vary"));
    }
  }
  return Done{};
}

SizePoint point_in(const DynamicShapes& shapes, const InputShapes& inputs) {
  SizePoint point(shapes.symbols.size());
  for (size_t i = 0; i < shapes.dims.size(); ++i) {
    for (size_t d = 0; d < shapes.dims[i].size(); ++d) {
      const DimExtent& extent = shapes.dims[i][d];
      if (extent.symbol < 0) continue;
      point[static_cast<size_t>(extent.symbol)] = extent.solve(inputs[i][d]).value_or(0);
    }
  }
  return point;
}

}  // namespace

Outcome<std::vector<DynamicDim>> places_in(std::vector<DynamicDim> dims, const Trace& sample) {
  for (size_t i = 0; i < dims.size(); ++i) {
    DynamicDim& dim = dims[i];
    const auto input = find_input(sample, dim.input);
    if (!input) {
      return invalid("the program has no input '" + dim.input + "' whose dim could vary; it has " +
                     input_names(sample));
    }
    const auto rank = static_cast<int64_t>(input_value(sample, *input).shape.size());
    if (dim.dim < -rank || dim.dim >= rank) {
      return invalid("input '" + dim.input + "' has " + std::to_string(rank) + " dims, no dim " +
                     std::to_string(dim.dim));
    }
    if (dim.dim < 0) dim.dim += rank;
    for (size_t k = 0; k < i; ++k) {
      if (dims[k].input != dim.input || dims[k].dim != dim.dim) continue;
      return invalid(dim.place() + " is given twice: as '" + dims[k].symbol + "' and '" +
                     dim.symbol + "'");
    }
  }
  return dims;
}

Outcome<DynamicShapes> symbols_of(const std::vector<DynamicDim>& dims, const Trace& sample,
                                  const std::vector<SampleInputs>& more) {
  DynamicShapes shapes;
  for (size_t i = 0; i < sample.inputs.size(); ++i) {
    shapes.dims.emplace_back(input_value(sample, i).shape.size());
  }
  std::vector<std::vector<const DynamicDim*>> by_symbol;
  std::vector<Bounds> bounds;
  for (const DynamicDim& dim : dims) {
    size_t index = 0;
    while (index < by_symbol.size() && by_symbol[index][0]->symbol != dim.symbol) ++index;
    if (index == by_symbol.size()) {
      by_symbol.emplace_back();
      bounds.emplace_back();
    }
    by_symbol[index].push_back(&dim);
    LAZYRT_TRY(add_bounds(dim, &bounds[index]));
    shapes.dims[*find_input(sample, dim.input)][static_cast<size_t>(dim.dim)] =
        DimExtent(static_cast<int>(index), dim.factor, dim.offset);
  }
  std::vector<NamedShapes> samples = {{"the sample", shapes_of(sample)}};
  for (const SampleInputs& inputs : more) {
    const std::string name = "sample " + std::to_string(samples.size());
    LAZYRT_TRY(check_inputs(inputs, name, sample, shapes));
    samples.push_back({name, shapes_of(inputs)});
  }
  for (size_t k = 0; k < by_symbol.size(); ++k) {
    std::vector<int64_t> seen;
    for (const NamedShapes& each : samples) {
      auto size = size_in(each, by_symbol[k], sample);
      if (!size.ok()) return size.failure();
      seen.push_back(*size);
    }
    add_seen(seen, &bounds[k]);
    auto symbol = make_symbol(*by_symbol[k][0], bounds[k]);
    if (!symbol.ok()) return symbol.failure();
    for (const DynamicDim* dim : by_symbol[k]) {
      if (dim->factor * symbol->max + dim->offset <= kMostSize) continue;
      return invalid(dim->place() + ": " +
                     DimExtent(0, dim->factor, dim->offset).text(symbol->name) +
                     " is more than the largest size, " + std::to_string(kMostSize));
    }
    for (size_t i = 0; i < seen.size(); ++i) {
      if (symbol->holds(seen[i])) continue;
      return invalid("'" + symbol->name + "' is " + std::to_string(seen[i]) + " in " +
                     samples[i].name + " (" + by_symbol[k][0]->place() + "), which is outside of " +
                     symbol->text());
    }
    shapes.symbols.push_back(std::move(*symbol));
  }
  return shapes;
}

SizePoint point_of(const DynamicShapes& shapes, const Trace& sample) {
  return point_in(shapes, shapes_of(sample));
}

SizePoint point_of(const DynamicShapes& shapes, const SampleInputs& inputs) {
  return point_in(shapes, shapes_of(inputs));
}

}  // namespace lazyrt
