#include "host_tracer/frontends/pt2/pt2_dims.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <limits>
#include <numeric>

namespace lazyrt {
namespace {

constexpr int64_t kMostSize = std::numeric_limits<int32_t>::max();

std::string place(const Pt2Dim& dim) { return dim.input + "." + std::to_string(dim.dim); }

std::string range_text(const std::string& name, const std::string& low, const std::string& high) {
  return "--dynamic " + name + "=NAME:" + low + ".." + high;
}

bool is_symbol(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  });
}

/// The dims that are one symbol in the file.
struct FileSymbol {
  std::vector<const Pt2Dim*> dims;
  std::vector<const DynamicDim*> given;  ///< by the caller, for some of them
};

Failure fixed_in_file(const DynamicDim& dim) {
  return {Error::kInvalidArgument, dim.place() +
                                       " is fixed in the .pt2: export it with torch.export.Dim(\"" +
                                       dim.symbol + "\", max=...) there"};
}

Failure derived(const Pt2Dim& dim) {
  return {Error::kUnsupported,
          "input '" + dim.input + "', dim " + std::to_string(dim.dim) + " is " + dim.expression +
              " in the .pt2: of sizes that follow from another one only multiples are known, where "
              "all dims of that size are the same multiple. --static fixes them at the sample's"};
}

/// The file's range of a symbol as sizes; no max where it has none, or one that only says so.
DynamicDim range_of(const Pt2Dim& dim) {
  DynamicDim range;
  range.min = std::clamp<int64_t>(dim.min.value_or(1), 1, kMostSize) * dim.multiple;
  if (dim.max && *dim.max < kMostSize) range.max = std::max<int64_t>(*dim.max, 0) * dim.multiple;
  range.multiple = dim.multiple;
  return range;
}

Failure no_upper_bound(const Pt2Dim& dim) {
  const std::string steps = dim.multiple > 1 ? "/" + std::to_string(dim.multiple) : "";
  return {Error::kInvalidArgument,
          "input '" + dim.input + "', dim " + std::to_string(dim.dim) +
              " has no upper bound in the .pt2: give " +
              range_text(place(dim), std::to_string(*range_of(dim).min), "MAX" + steps) +
              ", or --static to fix all dims at the sample's sizes"};
}

Outcome<Done> check_given(const Pt2Dim& dim, const DynamicDim& given) {
  const DynamicDim range = range_of(dim);
  const bool low = given.min && *given.min < *range.min;
  const bool high = given.max && range.max && *given.max > *range.max;
  if (!low && !high) return Done{};
  return Failure{Error::kInvalidArgument,
                 "'" + given.symbol + "' (" + given.place() +
                     ") goes beyond what the .pt2 was "
                     "exported for: " +
                     std::to_string(*range.min) + " to " +
                     (range.max ? std::to_string(*range.max) : "any") +
                     "; narrow it, or export with another torch.export.Dim"};
}

Outcome<Done> add_symbol(const FileSymbol& symbol, std::vector<DynamicDim>* dims) {
  const Pt2Dim& first = *symbol.dims[0];
  DynamicDim one = range_of(first);
  one.symbol = symbol.given.empty() ? place(first) : symbol.given[0]->symbol;
  for (const DynamicDim* given : symbol.given) {
    LAZYRT_TRY(check_given(first, *given));
    if (given->symbol != one.symbol) {
      return Failure{Error::kInvalidArgument, "'" + one.symbol + "' and '" + given->symbol +
                                                  "' are one size in the .pt2 (" +
                                                  first.expression + "): give them one name"};
    }
  }
  if (!one.max && symbol.given.empty()) return no_upper_bound(first);
  for (const Pt2Dim* dim : symbol.dims) {
    one.input = dim->input;
    one.dim = dim->dim;
    dims->push_back(one);
    for (const DynamicDim* given : symbol.given) {
      if (given->input != dim->input || given->dim != dim->dim) continue;
      DynamicDim& now = dims->back();
      if (given->min) now.min = std::max(*one.min, *given->min);
      if (given->max) now.max = given->max;
      now.multiple = std::lcm(one.multiple, given->multiple);
    }
  }
  return Done{};
}

}  // namespace

void read_expression(const std::string& text, Pt2Dim* dim) {
  dim->expression = text;
  if (is_symbol(text)) {
    dim->root = text;
    return;
  }
  char name[64] = "";
  long long multiple = 0;
  int end = 0;
  if (std::sscanf(text.c_str(), "Mul(Integer(%lld), %63[A-Za-z0-9_])%n", &multiple, name, &end) !=
      2)
    return;
  if (end != static_cast<int>(text.size()) || multiple < 1 || multiple > kMostSize) return;
  dim->root = name;
  dim->multiple = multiple;
  dim->expression = std::to_string(multiple) + "*" + name;
}

Outcome<std::vector<DynamicDim>> dims_of_file(const std::vector<Pt2Dim>& file,
                                              const std::vector<DynamicDim>& given) {
  std::vector<std::string> order;
  std::map<std::string, FileSymbol> symbols;
  for (const Pt2Dim& dim : file) {
    if (dim.root.empty()) return derived(dim);
    FileSymbol& symbol = symbols[dim.root];
    if (symbol.dims.empty()) order.push_back(dim.root);
    if (!symbol.dims.empty() && symbol.dims[0]->multiple != dim.multiple) {
      return derived(dim.multiple > 1 ? dim : *symbol.dims[0]);
    }
    symbol.dims.push_back(&dim);
  }
  for (const DynamicDim& dim : given) {
    const auto found = std::find_if(file.begin(), file.end(), [&](const Pt2Dim& known) {
      return known.input == dim.input && known.dim == dim.dim;
    });
    if (found == file.end()) return fixed_in_file(dim);
    symbols[found->root].given.push_back(&dim);
  }
  std::vector<DynamicDim> dims;
  for (const std::string& root : order) LAZYRT_TRY(add_symbol(symbols[root], &dims));
  return dims;
}

}  // namespace lazyrt
