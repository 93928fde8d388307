#include "host_tracer/frontends/pt2/archive.h"

#include <ATen/ATen.h>
#include <torch/csrc/jit/serialization/pickle.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "host_tracer/frontends/pt2/program_json.h"

namespace lazyrt {
namespace {

namespace ex = torch::_export;

int64_t static_int(const ex::SymInt& value, const std::string& what) {
  TORCH_CHECK(value.tag() == ex::SymInt::Tag::AS_INT, what, " has a symbolic size");
  return value.get_as_int();
}

std::vector<int64_t> static_ints(const std::vector<ex::SymInt>& values, const std::string& what) {
  std::vector<int64_t> ints;
  for (const ex::SymInt& value : values) ints.push_back(static_int(value, what));
  return ints;
}

std::vector<char> to_bytes(std::tuple<at::DataPtr, size_t> record) {
  const char* data = static_cast<const char*>(std::get<0>(record).get());
  return std::vector<char>(data, data + std::get<1>(record));
}

bool starts_with_zip_magic(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  char magic[4] = {};
  file.read(magic, sizeof(magic));
  return file.gcount() == 4 && magic[0] == 'P' && magic[1] == 'K' && magic[2] == 3 && magic[3] == 4;
}

bool ends_with(const std::string& s, const std::string& end) {
  return s.size() >= end.size() && s.compare(s.size() - end.size(), end.size(), end) == 0;
}

}  // namespace

Pt2Archive::Pt2Archive(const std::string& path) : path_(path) {
  open();
  find_model();
  read_program();
}

void Pt2Archive::refuse(const std::string& why) const {
  throw Pt2FileError({__func__, __FILE__, __LINE__}, path_ + ": " + why);
}

void Pt2Archive::open() {
  std::error_code error;
  if (!std::filesystem::exists(path_, error)) refuse("no such file");
  if (!std::filesystem::is_regular_file(path_, error)) refuse("not a regular file");
  if (!starts_with_zip_magic(path_)) {
    refuse("not a zip archive, so not what torch.export.save writes");
  }
  try {
    zip_ = std::make_unique<caffe2::serialize::PyTorchStreamReader>(path_);
    records_ = zip_->getAllRecords();
  } catch (const std::exception&) {
    refuse("the zip archive is damaged or cut short");
  }
  if (has("byteorder") && text_record("byteorder") != "little") {
    refuse("written on a big-endian machine; that byte order is not supported");
  }
}

bool Pt2Archive::has(const std::string& record) const {
  return std::find(records_.begin(), records_.end(), record) != records_.end();
}

std::string Pt2Archive::text_record(const std::string& record) {
  if (!has(record)) refuse("the archive has no '" + record + "'");
  try {
    const std::vector<char> bytes = to_bytes(zip_->getRecord(record));
    return std::string(bytes.begin(), bytes.end());
  } catch (const std::exception&) {
    refuse("'" + record + "' is damaged (its checksum or length is wrong)");
  }
}

void Pt2Archive::find_model() {
  std::string others;
  for (const std::string& record : records_) {
    if (record.rfind("models/", 0) != 0 || !ends_with(record, ".json")) continue;
    const std::string name = record.substr(7, record.size() - 12);
    if (model_.empty()) {
      model_ = name;
    } else {
      others += ", '" + name + "'";
    }
  }
  if (!others.empty()) {
    refuse("it holds several programs, '" + model_ + "'" + others +
           ": save the one to export by itself, with torch.export.save");
  }
  if (!model_.empty()) return;
  if (has("serialized_exported_program.json")) {
    refuse("written by torch before 2.8 in its older layout; save it again with torch 2.13");
  }
  if (has("constants.pkl") || has("bytecode.pkl")) {
    refuse(
        "a TorchScript file, not a .pt2: export the model with torch.export.export and save it "
        "with torch.export.save");
  }
  if (has("data.pkl")) {
    refuse(
        "a torch.save checkpoint, which holds tensors but no program: load it into the model, "
        "then use torch.export.export and torch.export.save");
  }
  refuse("no models/*.json in the archive, so not what torch.export.save writes");
}

void Pt2Archive::read_program() {
  const std::string text = text_record("models/" + model_ + ".json");
  try {
    const int64_t major = schema_major(text);
    if (major != kPt2SchemaMajor) {
      refuse("its export schema is version " + std::to_string(major) + ", this build reads " +
             std::to_string(kPt2SchemaMajor) + ": save it again with torch 2.13");
    }
    program_ = parse_program(text);
  } catch (const c10::Error&) {
    throw;
  } catch (const std::exception& e) {
    refuse("models/" + model_ + ".json is not a valid exported program: " + e.what());
  }
}

std::unordered_map<std::string, at::Tensor> Pt2Archive::tensors() {
  std::unordered_map<std::string, at::Tensor> out;
  add_tensors("data/weights/", model_ + "_weights_config.json", out);
  add_tensors("data/constants/", model_ + "_constants_config.json", out);
  return out;
}

void Pt2Archive::add_tensors(const std::string& folder, const std::string& config,
                             std::unordered_map<std::string, at::Tensor>& out) {
  const std::string text = text_record(folder + config);
  ex::PayloadConfig payloads;
  try {
    payloads = parse_payloads(text);
  } catch (const std::exception& e) {
    refuse(folder + config + " is not valid: " + e.what());
  }
  for (const auto& [name, meta] : payloads.get_config()) {
    if (!meta.get_tensor_meta()) refuse("'" + name + "' is a custom object, not a tensor");
    out[name] = read_tensor(name, folder + meta.get_path_name(), meta);
  }
}

at::Storage Pt2Archive::storage(const std::string& record) {
  auto it = storages_.find(record);
  if (it != storages_.end()) return it->second;
  if (!has(record)) refuse("the archive has no '" + record + "'");
  try {
    auto [data, size] = zip_->getRecord(record);
    const at::Storage made(c10::Storage::use_byte_size_t(), size, std::move(data));
    return storages_.emplace(record, made).first->second;
  } catch (const std::exception&) {
    refuse("'" + record + "' is damaged (its checksum or length is wrong)");
  }
}

at::Tensor Pt2Archive::read_tensor(const std::string& name, const std::string& record,
                                   const ex::PayloadMeta& payload) {
  const std::string what = path_ + ": tensor '" + name + "'";
  if (payload.get_use_pickle()) {
    if (!has(record)) refuse("the archive has no '" + record + "'");
    const c10::IValue value = torch::jit::pickle_load(to_bytes(zip_->getRecord(record)));
    TORCH_CHECK(value.isTensor(), what, " is not stored as a tensor");
    return value.toTensor();
  }
  const ex::TensorMeta& meta = *payload.get_tensor_meta();
  TORCH_CHECK(meta.get_layout() == ex::Layout::Strided, what,
              " is sparse; only dense tensors can be captured");
  const auto sizes = static_ints(meta.get_sizes(), what);
  const auto strides = static_ints(meta.get_strides(), what);
  const int64_t offset = static_int(meta.get_storage_offset(), what);
  const at::ScalarType type = scalar_type_of(meta.get_dtype(), what);
  TORCH_CHECK(sizes.size() == strides.size() && offset >= 0, what, " has a bad description");
  const at::Storage bytes = storage(record);
  int64_t last = offset;
  bool empty = false;
  for (size_t i = 0; i < sizes.size(); ++i) {
    TORCH_CHECK(sizes[i] >= 0 && strides[i] >= 0, what, " has a bad description");
    empty = empty || sizes[i] == 0;
    int64_t span = 0;
    TORCH_CHECK(!__builtin_mul_overflow(std::max<int64_t>(sizes[i] - 1, 0), strides[i], &span) &&
                    !__builtin_add_overflow(last, span, &last),
                what, " has a bad description");
  }
  const auto available = static_cast<int64_t>(bytes.nbytes() / c10::elementSize(type));
  TORCH_CHECK(empty || last < available, what, " needs ", last + 1, " elements, the file holds ",
              available);
  at::Tensor t = at::empty({0}, at::TensorOptions().dtype(type));
  t.set_(bytes, empty ? 0 : offset, sizes, strides);
  return t;
}

c10::IValue Pt2Archive::sample_inputs(std::string* why) {
  const std::string record = "data/sample_inputs/" + model_ + ".pt";
  if (!has(record)) {
    *why = "the file holds no sample inputs";
    return {};
  }
  try {
    return torch::jit::pickle_load(to_bytes(zip_->getRecord(record)));
  } catch (const std::exception&) {
    *why =
        "the file's sample inputs cannot be read without Python (they hold objects other than "
        "tensors, numbers, tuples, lists and dicts) or are damaged";
    return {};
  }
}

at::ScalarType scalar_type_of(ex::ScalarType type, const std::string& what) {
  switch (type) {
    case ex::ScalarType::BYTE:
      return at::kByte;
    case ex::ScalarType::CHAR:
      return at::kChar;
    case ex::ScalarType::SHORT:
      return at::kShort;
    case ex::ScalarType::INT:
      return at::kInt;
    case ex::ScalarType::LONG:
      return at::kLong;
    case ex::ScalarType::HALF:
      return at::kHalf;
    case ex::ScalarType::FLOAT:
      return at::kFloat;
    case ex::ScalarType::DOUBLE:
      return at::kDouble;
    case ex::ScalarType::COMPLEXFLOAT:
      return at::kComplexFloat;
    case ex::ScalarType::COMPLEXDOUBLE:
      return at::kComplexDouble;
    case ex::ScalarType::BOOL:
      return at::kBool;
    case ex::ScalarType::BFLOAT16:
      return at::kBFloat16;
    default:
      break;
  }
  std::string name = "code " + std::to_string(static_cast<int>(type));
  try {
    name = ex::printEnum(type);
  } catch (const std::exception&) {
    // If it is not in the enum, the number is printed.
  }
  TORCH_CHECK(false, what, " has the unsupported dtype ", name);
}

}  // namespace lazyrt
