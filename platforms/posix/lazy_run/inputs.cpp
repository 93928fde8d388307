#include "platforms/posix/lazy_run/inputs.h"

#include <cstring>
#include <random>
#include <sstream>
#include <utility>

#include "platforms/posix/lazy_run/report.h"
#include "platforms/posix/lazy_run/text.h"

namespace lazyrt::run {
namespace {

/// A message lists no more inputs or variants than this, then "...".
constexpr size_t kMostListed = 20;

HostTensor widen_ids(const HostTensor& from) {
  HostTensor to;
  to.dtype = DType::kInt64;
  to.shape = from.shape;
  const size_t n = from.bytes.size() / sizeof(int32_t);
  to.bytes.resize(n * sizeof(int64_t));
  for (size_t i = 0; i < n; ++i) {
    int32_t narrow;
    std::memcpy(&narrow, from.bytes.data() + i * sizeof(narrow), sizeof(narrow));
    const int64_t wide = narrow;
    std::memcpy(to.bytes.data() + i * sizeof(wide), &wide, sizeof(wide));
  }
  return to;
}

bool has_symbol(const Method& method, size_t i) {
  for (int d = 0; d < method.input(i).shape.rank(); ++d) {
    if (method.input_symbol(i, d) >= 0) return true;
  }
  return false;
}

/// "2*n+1"
std::string describe_extent(const Method& method, const ExtentInfo& extent) {
  const std::string name = shown(method.symbol(static_cast<size_t>(extent.symbol)).name);
  const std::string times = extent.factor == 1 ? "" : std::to_string(extent.factor) + "*";
  const std::string sign = extent.offset > 0 ? "+" : "";
  return times + name + (extent.offset == 0 ? "" : sign + std::to_string(extent.offset));
}

/// "f32[batch,3]"
std::string describe_symbols(const Method& method, size_t i) {
  const TensorInfo info = method.input(i);
  std::string out = dtype_name(info.dtype) + std::string("[");
  for (int d = 0; d < info.shape.rank(); ++d) {
    const ExtentInfo extent = method.input_extent(i, d);
    out += (d > 0 ? "," : "") +
           (extent.symbol < 0 ? std::to_string(info.shape[d]) : describe_extent(method, extent));
  }
  return out + "]";
}

/// "f32[2,3]", or of variants that differ "f32[2,3] or f32[4,3]"
std::string describe_input(const Method& method, size_t i) {
  if (has_symbol(method, i)) return describe_symbols(method, i);
  std::string out;
  size_t listed = 0;
  for (size_t v = 0; v < method.variant_count(); ++v) {
    const std::string type = type_text(method.input(i, v).dtype, method.input(i, v).shape);
    if ((" or " + out + " or ").find(" or " + type + " or ") != std::string::npos) continue;
    if (listed++ == kMostListed) return out + " or ...";
    out += (out.empty() ? "" : " or ") + type;
  }
  return out;
}

/// The inputs for which `is_listed`, "x f32[2,3], ids i64[2]".
template <class IsListed>
std::string describe_some(const Method& method, const IsListed& is_listed) {
  std::string out;
  size_t listed = 0;
  for (size_t i = 0; i < method.input_count(); ++i) {
    if (!is_listed(i)) continue;
    if (listed++ == kMostListed) return out + ", ...";
    out +=
        (out.empty() ? "" : ", ") + shown(method.input(i).name) + " " + describe_input(method, i);
  }
  return out;
}

/// The session checks sizes that vary.
HostTensor fit(HostTensor tensor, const Method& method, size_t i, const std::string& file) {
  const TensorInfo info = method.input(i);
  if (tensor.dtype == DType::kInt32 && info.dtype == DType::kInt64) tensor = widen_ids(tensor);
  const bool same_rank = tensor.shape.rank() == info.shape.rank();
  if (tensor.dtype == info.dtype && same_rank && has_symbol(method, i)) return tensor;
  for (size_t v = 0; v < method.variant_count(); ++v) {
    if (tensor.dtype == info.dtype && tensor.shape == method.input(i, v).shape) return tensor;
  }
  throw Failure(ExitCode::kUsage, "input '" + shown(info.name) + "' takes " +
                                      describe_input(method, i) + ", '" + file + "' holds " +
                                      type_text(tensor.dtype, tensor.shape));
}

/// The files of each input, in the order of the runs.
std::vector<std::vector<std::string>> files_of_inputs(const Method& method,
                                                      const Options& options) {
  std::vector<std::vector<std::string>> files(method.input_count());
  for (const auto& [name, file] : options.inputs) {
    const Result<size_t> i = method.find_input(name.c_str());
    require(i.status(), "--input");
    files[*i].push_back(file);
  }
  const std::string missing = describe_some(method, [&](size_t i) { return files[i].empty(); });
  if (!missing.empty()) throw Failure(ExitCode::kUsage, "no --input for: " + missing);
  return files;
}

/// Returns how many runs these files are for; a Failure names two inputs that do not agree.
size_t count_runs(const Method& method, const std::vector<std::vector<std::string>>& files) {
  size_t longest = 0;
  for (size_t i = 0; i < files.size(); ++i) {
    if (files[i].size() > files[longest].size()) longest = i;
  }
  const auto said = [&](size_t i) {
    return "'" + shown(method.input(i).name) + "' " + std::to_string(files[i].size());
  };
  for (size_t i = 0; i < files.size(); ++i) {
    if (files[i].size() == 1 || files[i].size() == files[longest].size()) continue;
    throw Failure(ExitCode::kUsage, "--input: " + said(longest) + " times, but " + said(i) +
                                        " times: give an input once, or for each run");
  }
  return files[longest].size();
}

std::vector<InputsOfRun> read_named(const Method& method, const Options& options) {
  const std::vector<std::vector<std::string>> files = files_of_inputs(method, options);
  std::vector<InputsOfRun> runs(count_runs(method, files));
  for (size_t run = 0; run < runs.size(); ++run) {
    for (size_t i = 0; i < files.size(); ++i) {
      if (run >= files[i].size()) continue;
      runs[run].emplace_back(i, fit(read_npy(files[i][run]), method, i, files[i][run]));
    }
  }
  return runs;
}

DType dtype_named(const std::string& name) {
  for (int i = 1; i < kDTypeCount; ++i) {
    if (name == dtype_name(static_cast<DType>(i))) return static_cast<DType>(i);
  }
  return DType::kNone;
}

/// A line of inputs.txt: file, dtype, rank, dims.
HostTensor read_raw(const std::string& folder, const std::string& line, std::string* file) {
  std::istringstream words(line);
  std::string dtype;
  int rank = -1;
  HostTensor out;
  words >> *file >> dtype >> rank;
  out.dtype = dtype_named(dtype);
  bool good = words && out.dtype != DType::kNone && rank >= 0 && rank <= kMaxRank;
  for (int i = 0; good && i < rank; ++i) {
    int64_t extent = -1;
    good = static_cast<bool>(words >> extent);
    out.shape.append(extent);
  }
  int64_t numel = 0;
  if (!good || !out.shape.checked_numel(&numel)) {
    throw Failure(ExitCode::kUsage, "'" + folder + "/inputs.txt': bad line '" + line + "'");
  }
  *file = folder + "/" + *file;
  out.bytes = read_file(*file);
  if (out.bytes.size() / dtype_size(out.dtype) != static_cast<uint64_t>(numel) ||
      out.bytes.size() % dtype_size(out.dtype) != 0) {
    throw Failure(ExitCode::kUsage, "'" + *file + "': " + std::to_string(out.bytes.size()) +
                                        " bytes are not " + type_text(out.dtype, out.shape));
  }
  return out;
}

std::vector<HostTensor> read_folder(const Method& method, const std::string& folder) {
  const std::vector<uint8_t> list = read_file(folder + "/inputs.txt");
  std::istringstream lines(std::string(list.begin(), list.end()));
  std::vector<HostTensor> out;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty()) continue;
    std::string file;
    HostTensor tensor = read_raw(folder, line, &file);
    if (out.size() < method.input_count()) {
      tensor = fit(std::move(tensor), method, out.size(), file);
    }
    out.push_back(std::move(tensor));
  }
  if (out.size() == method.input_count()) return out;
  throw Failure(ExitCode::kUsage, "'" + folder + "/inputs.txt' lists " +
                                      std::to_string(out.size()) + " inputs, the method takes " +
                                      std::to_string(method.input_count()) + ": " +
                                      describe_inputs(method));
}

}  // namespace

std::vector<InputsOfRun> read_inputs(const Method& method, const Options& options) {
  if (options.input_dir.empty()) return read_named(method, options);
  std::vector<InputsOfRun> runs(1);
  for (HostTensor& tensor : read_folder(method, options.input_dir))
    runs[0].emplace_back(runs[0].size(), std::move(tensor));
  return runs;
}

std::vector<HostTensor> synthetic_inputs(const Method& method) {
  std::vector<HostTensor> out(method.input_count());
  std::mt19937 random(1);
  for (size_t i = 0; i < out.size(); ++i) {
    const TensorInfo info = method.input(i);
    out[i].dtype = info.dtype;
    out[i].shape = info.shape;
    out[i].bytes.resize(static_cast<size_t>(info.shape.numel()) * dtype_size(info.dtype));
    if (info.dtype != DType::kFloat32) continue;
    for (size_t k = 0; k < out[i].bytes.size(); k += sizeof(float)) {
      const float x = static_cast<float>(random() >> 8) / 16777216.0f;
      std::memcpy(out[i].bytes.data() + k, &x, sizeof(x));
    }
  }
  return out;
}

std::string describe_inputs(const Method& method) {
  const std::string out = describe_some(method, [](size_t) { return true; });
  return out.empty() ? "none" : out;
}

}  // namespace lazyrt::run
