// run_case FOLDER: writes FOLDER/cases.json and every case's operands and reference results as
// .npy, for torch_agreement.py.

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "tests/conformance/case_run.h"
#include "tests/conformance/case_table.h"

namespace lazyrt {
namespace {

namespace fs = std::filesystem;

/// NumPy's type code; bf16 has none and is written as its 16 bits.
const char* numpy_type(DType dtype) {
  constexpr const char* kCodes[] = {"",    "<f4", "<f8", "<f2", "<u2", "|i1",
                                    "|u1", "<i2", "<i4", "<i8", "|b1"};
  return kCodes[static_cast<size_t>(dtype)];
}

bool write_npy(const fs::path& path, const TensorView& tensor) {
  std::string shape;
  for (int64_t d : tensor.shape) shape += std::to_string(d) + ",";
  std::string header = std::string("{'descr': '") + numpy_type(tensor.dtype) +
                       "', 'fortran_order': False, 'shape': (" + shape + ")}";
  header.resize((10 + header.size() + 1 + 63) / 64 * 64 - 10 - 1, ' ');
  header += '\n';
  std::ofstream file(path, std::ios::binary);
  const auto size = static_cast<uint16_t>(header.size());
  file.write("\x93NUMPY\x01\x00", 8).write(reinterpret_cast<const char*>(&size), 2) << header;
  if (tensor.bytes() > 0)
    file.write(tensor.as<const char>(), static_cast<std::streamsize>(tensor.bytes()));
  return file.good();
}

/// Writes the tensors as PREFIX_0.npy, ...; returns the JSON list of their dtypes ("none" =
/// absent).
std::string write_tensors(const fs::path& prefix, const std::vector<GuardedTensor>& tensors) {
  std::string list;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const TensorView& view = tensors[i].view();
    if (view.present()) write_npy(prefix.string() + "_" + std::to_string(i) + ".npy", view);
    list += std::string(i == 0 ? "" : ",") + "\"" + dtype_name(view.dtype) + "\"";
  }
  return "[" + list + "]";
}

std::string escaped(const char* text) {
  std::string out;
  for (; *text != '\0'; ++text)
    out += *text == '"' || *text == '\\' ? std::string("\\") + *text : std::string(1, *text);
  return out;
}

/// flatbuffers writes inf and nan as C does; JSON as Python reads it wants Infinity and NaN.
std::string python_json(std::string text) {
  const auto replace = [&](const std::string& from, const std::string& to) {
    for (size_t at = text.find(from); at != std::string::npos;
         at = text.find(from, at + to.size())) {
      text.replace(at, from.size(), to);
    }
  };
  replace(": -inf", ": -Infinity");
  replace(": inf", ": Infinity");
  replace(": nan", ": NaN");
  replace(": -nan", ": NaN");
  return text;
}

std::string run_one(const CaseRef& c, const fs::path& folder) {
  const CaseNode node(*c.op, *c.op_case, conformance_seed());
  if (!node.inferred.ok())
    return "{\"id\": \"" + c.id() + "\", \"error\": \"" + escaped(node.inferred.message()) + "\"}";
  const CaseResult result = run_kernel(node, c.op->def->reference, nullptr);
  const std::string stem = std::string(c.op->name) + "." + c.op_case->name;
  const std::string inputs = write_tensors(folder / (stem + ".in"), node.operands);
  const std::string outputs = write_tensors(folder / (stem + ".out"), result.outputs);
  return "{\"id\": \"" + c.id() + "\", \"op\": \"" + c.op->name + "\", \"stem\": \"" + stem +
         "\", \"attrs\": " + python_json(node.attrs.json()) + ", \"inputs\": " + inputs +
         ", \"outputs\": " + outputs + ", \"tolerance\": " + std::to_string(c.op_case->tolerance) +
         ", \"status\": \"" + escaped(result.status.message()) +
         "\", \"refused_at_run\": " + (c.op_case->refused_at_run ? "true" : "false") + "}";
}

}  // namespace
}  // namespace lazyrt

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: run_case FOLDER\n");
    return 2;
  }
  const std::filesystem::path folder = argv[1];
  std::filesystem::create_directories(folder);
  std::ofstream json(folder / "cases.json");
  const char* separator = "[\n";
  for (const lazyrt::CaseRef& c : lazyrt::case_refs()) {
    json << separator << lazyrt::run_one(c, folder);
    separator = ",\n";
  }
  json << "\n]\n";
  return json.good() ? 0 : 1;
}
