#include "host_tracer/frontends/shared/model_kind.h"

#include <caffe2/serialize/inline_container.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <vector>

#include "schema/bundle_file.h"

namespace lazyrt {
namespace {

constexpr char kTakes[] =
    "; lazy-export takes a .pt2 of torch.export.save or a .pt of torch.jit.save";

struct Magic {
  size_t offset;
  std::string_view bytes;
  const char* what;
};
constexpr Magic kForeign[] = {
    {0, "\x80\x02",
     "a pickle, such as torch.save wrote before torch 1.6: it holds tensors but no "
     "program"},
    {0, "GGUF", "a GGUF file, which holds tensors but no program"},
    {4, "TFL3", "a LiteRT (TensorFlow Lite) model"},
    {0, "\x93NUMPY", "a NumPy array"},
    {8, "{\"", "a safetensors file, which holds tensors but no program"},
};

std::string head_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string head(64, '\0');
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<size_t>(file.gcount()));
  return head;
}

bool has_at(const std::string& head, size_t offset, std::string_view bytes) {
  return head.size() >= offset + bytes.size() && head.compare(offset, bytes.size(), bytes) == 0;
}

Failure refused(const std::string& path, std::string_view what, std::string_view advice = "") {
  std::string text = path;
  text.append(": ").append(what).append(advice);
  return {Error::kInvalidBundle, std::move(text)};
}

Failure not_a_zip(const std::string& path, const std::string& head) {
  if (head.empty()) return refused(path, "the file is empty");
  if (has_at(head, 0, std::string_view(kBundleMagic, sizeof(kBundleMagic)))) {
    return refused(path, "a LazyRT bundle already; see lazy-export inspect, lazy-run");
  }
  for (const Magic& magic : kForeign) {
    if (has_at(head, magic.offset, magic.bytes)) return refused(path, magic.what, kTakes);
  }
  return refused(path, "not a zip archive, so not a model of PyTorch's", kTakes);
}

struct Records {
  std::vector<std::string> names;
  bool has(std::string_view name) const {
    return std::find(names.begin(), names.end(), name) != names.end();
  }
  bool any(std::string_view begin, std::string_view end) const {
    return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
      return name.starts_with(begin) && name.ends_with(end);
    });
  }
};

Outcome<ModelKind> kind_of(const std::string& path, const Records& records) {
  // The older layout of .pt2 is refused by its reader, which says what to do.
  if (records.any("models/", ".json") || records.has("serialized_exported_program.json")) {
    return ModelKind::kExportedProgram;
  }
  if (records.has("constants.pkl") && records.any("code/", ".py")) return ModelKind::kTorchScript;
  if (records.has("bytecode.pkl")) {
    return refused(path,
                   "a TorchScript file for the lite interpreter, without its program's text: "
                   "save it with torch.jit.save");
  }
  if (records.has("data.pkl")) {
    return refused(
        path,
        "a torch.save checkpoint (a state_dict or a pickled module), which holds tensors "
        "but no program: load it into the model in Python, then use "
        "torch.export.save(torch.export.export(model.eval(), inputs), \"model.pt2\") or "
        "torch.jit.script(model.eval()).save(\"model.pt\")");
  }
  return refused(path, "a zip archive, but no model of PyTorch's", kTakes);
}

}  // namespace

Outcome<ModelKind> model_kind(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return Failure{Error::kNotFound, "no file " + path};
  if (!std::filesystem::is_regular_file(path, error)) {
    return Failure{Error::kIo, path + " is not a regular file"};
  }
  const std::string head = head_of(path);
  if (!has_at(head, 0, "PK\3\4")) return not_a_zip(path, head);
  Records records;
  try {
    records.names = caffe2::serialize::PyTorchStreamReader(path).getAllRecords();
  } catch (const std::exception&) {
    return refused(path, "the zip archive is damaged or cut short");
  }
  return kind_of(path, records);
}

}  // namespace lazyrt
