#include "host_tracer/frontends/pt2/pt2_dims.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <limits>
#include <numeric>
#include <utility>

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

/// The dims that the file describes by one symbol.
struct FileSymbol {
  std::vector<const Pt2Dim*> dims;
  std::vector<const DynamicDim*> given;  ///< by the caller, for some of them

  /// Whether all dims are the same multiple of it; that multiple then becomes the symbol.
  bool is_one_multiple() const {
    return std::all_of(dims.begin(), dims.end(), [&](const Pt2Dim* dim) {
      return dim->multiple == dims[0]->multiple && dim->offset == 0;
    });
  }
};

Failure fixed_in_file(const DynamicDim& dim) {
  return {Error::kInvalidArgument, dim.place() +
                                       " is fixed in the .pt2: export it with torch.export.Dim(\"" +
                                       dim.symbol + "\", max=...) there"};
}

Failure derived(const Pt2Dim& dim) {
  return {Error::kUnsupported,
          "input '" + dim.input + "', dim " + std::to_string(dim.dim) + " is " + dim.expression +
              " in the .pt2: a size that follows from another one has to be a multiple of it plus "
              "a number. --static fixes all dims at the sample's sizes"};
}

/// The file's range of a symbol, as sizes; no max if the file has none, or one that means none.
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

/// What the caller says about a dim, converted to the symbol from which the dim follows.
Outcome<DynamicDim> of_root(const DynamicDim& given, const Pt2Dim& dim) {
  DynamicDim root = given;
  const bool is_rule = given.factor != 1 || given.offset != 0;
  if (is_rule && (given.factor != dim.multiple || given.offset != dim.offset)) {
    return Failure{Error::kInvalidArgument,
                   given.place() + " is " + dim.expression + " in the .pt2"};
  }
  if (is_rule || (dim.multiple == 1 && dim.offset == 0)) return root;
  if (given.multiple != 1) {
    return Failure{Error::kInvalidArgument,
                   given.place() + " is " + dim.expression +
                       " in the .pt2: give the multiple at a dim that is the symbol itself"};
  }
  if (given.min)
    root.min = std::max<int64_t>((*given.min - dim.offset + dim.multiple - 1) / dim.multiple, 1);
  if (given.max) root.max = (*given.max - dim.offset) / dim.multiple;
  return root;
}

/// The symbol of dims that are several functions of it, as the file and the caller have it.
Outcome<DynamicDim> find_root(const FileSymbol& symbol) {
  const auto plain = std::find_if(symbol.dims.begin(), symbol.dims.end(), [](const Pt2Dim* dim) {
    return dim->multiple == 1 && dim->offset == 0;
  });
  Pt2Dim file = plain == symbol.dims.end() ? *symbol.dims[0] : **plain;
  file.multiple = 1;
  DynamicDim root = range_of(file);
  root.symbol = plain == symbol.dims.end() ? file.root : place(file);
  if (!symbol.given.empty()) root.symbol = symbol.given[0]->symbol;
  for (const DynamicDim* given : symbol.given) {
    if (given->symbol != root.symbol) {
      return Failure{Error::kInvalidArgument, "'" + root.symbol + "' and '" + given->symbol +
                                                  "' follow from one size in the .pt2 (" +
                                                  file.root + "): give them one name"};
    }
    const auto dim = std::find_if(symbol.dims.begin(), symbol.dims.end(), [&](const Pt2Dim* d) {
      return d->input == given->input && d->dim == given->dim;
    });
    const auto said = of_root(*given, **dim);
    if (!said.ok()) return said.failure();
    LAZYRT_TRY(check_given(file, *said));
    if (said->min) root.min = std::max(*root.min, *said->min);
    if (said->max) root.max = root.max ? std::min(*root.max, *said->max) : *said->max;
    root.multiple = std::lcm(root.multiple, said->multiple);
  }
  if (!root.max) return no_upper_bound(file);
  return root;
}

Outcome<Done> add_root(const FileSymbol& symbol, std::vector<DynamicDim>* dims) {
  auto root = find_root(symbol);
  if (!root.ok()) return root.failure();
  for (const Pt2Dim* dim : symbol.dims) {
    root->input = dim->input;
    root->dim = dim->dim;
    root->factor = dim->multiple;
    root->offset = dim->offset;
    dims->push_back(*root);
  }
  return Done{};
}

/// An integer of the file, if a size can have that value; else nothing.
std::optional<int64_t> number_in(const std::string& text) {
  long long number = 0;
  int end = 0;
  if (std::sscanf(text.c_str(), "Integer(%lld)%n", &number, &end) != 1) return std::nullopt;
  if (end != static_cast<int>(text.size()) || number < -kMostSize || number > kMostSize)
    return std::nullopt;
  return number;
}

/// The parts of "NAME(a, b)", where b or a is a number; an empty part if the text has another form.
std::pair<std::string, int64_t> part_and_number(const std::string& text, const std::string& name) {
  if (text.rfind(name + "(", 0) != 0 || text.back() != ')') return {};
  const std::string inside = text.substr(name.size() + 1, text.size() - name.size() - 2);
  for (const size_t comma : {inside.find(", "), inside.rfind(", ")}) {
    if (comma == std::string::npos) return {};
    const std::string a = inside.substr(0, comma), b = inside.substr(comma + 2);
    if (const auto number = number_in(a)) return {b, *number};
    if (const auto number = number_in(b)) return {a, *number};
  }
  return {};
}

}  // namespace

void read_expression(const std::string& text, Pt2Dim* dim) {
  dim->expression = text;
  std::string rest = text;
  int64_t multiple = 1, offset = 0;
  if (auto [part, number] = part_and_number(rest, "Add"); !part.empty()) {
    rest = part;
    offset = number;
  }
  if (auto [part, number] = part_and_number(rest, "Mul"); !part.empty()) {
    rest = part;
    multiple = number;
  }
  if (!is_symbol(rest) || multiple < 1) return;
  dim->root = rest;
  dim->multiple = multiple;
  dim->offset = offset;
  dim->expression = DimExtent(0, multiple, offset).text(rest);
}

Outcome<std::vector<DynamicDim>> dims_of_file(const std::vector<Pt2Dim>& file,
                                              const std::vector<DynamicDim>& given) {
  std::vector<std::string> order;
  std::map<std::string, FileSymbol> symbols;
  for (const Pt2Dim& dim : file) {
    if (dim.root.empty()) return derived(dim);
    FileSymbol& symbol = symbols[dim.root];
    if (symbol.dims.empty()) order.push_back(dim.root);
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
  for (const std::string& root : order) {
    const FileSymbol& symbol = symbols[root];
    LAZYRT_TRY(symbol.is_one_multiple() ? add_symbol(symbol, &dims) : add_root(symbol, &dims));
  }
  return dims;
}

}  // namespace lazyrt
