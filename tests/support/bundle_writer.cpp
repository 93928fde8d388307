#include "tests/support/bundle_writer.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace lazyrt::test {

uint64_t BundleParts::append(std::vector<uint8_t>* section, const void* data, size_t bytes) {
  section->resize(align_up(section->size(), kBundleAlignment));
  const uint64_t offset = section->size();
  const auto* p = static_cast<const uint8_t*>(data);
  section->insert(section->end(), p, p + bytes);
  return offset;
}

std::unique_ptr<fb::BlobT> BundleParts::sample_blob(const fb::ValueT& value, const void* data) {
  auto blob = std::make_unique<fb::BlobT>();
  blob->dtype = value.dtype;
  blob->shape = value.shape;
  blob->bytes = value.bytes;
  blob->offset = append(&samples, data, value.bytes);
  return blob;
}

namespace {

/// Then all that may be written over is stored.
bool has_symbols(const std::vector<std::unique_ptr<fb::MethodT>>& methods) {
  for (const auto& m : methods) {
    if (m != nullptr && (!m->symbols.empty() || has_symbols(m->variants))) return true;
  }
  return false;
}

}  // namespace

AlignedBytes write_bundle(const BundleParts& parts) {
  flatbuffers::FlatBufferBuilder builder;
  builder.ForceDefaults(has_symbols(parts.bundle.methods));
  fb::FinishBundleBuffer(builder, fb::CreateBundle(builder, &parts.bundle));
  return write_bundle({builder.GetBufferPointer(), builder.GetSize()}, parts);
}

AlignedBytes write_bundle(Span<const uint8_t> metadata, const BundleParts& parts) {
  BundleProlog p = {};
  std::memcpy(p.magic, kBundleMagic, sizeof(p.magic));
  p.major = kBundleMajor;
  p.minor = kBundleMinor;
  p.metadata_offset = sizeof(p);
  p.metadata_bytes = metadata.size();
  p.constants_offset = align_up(p.metadata_offset + p.metadata_bytes, kBundleAlignment);
  p.constants_bytes = parts.constants.size() + kBundleTailBytes;
  p.file_bytes = p.constants_offset + p.constants_bytes;
  if (!parts.samples.empty()) {
    p.samples_offset = align_up(p.file_bytes, kBundlePageBytes);
    p.samples_bytes = parts.samples.size();
    p.file_bytes = p.samples_offset + p.samples_bytes;
  }
  AlignedBytes file(p.file_bytes);
  std::memset(file.data(), 0, file.size());
  std::memcpy(file.data() + p.metadata_offset, metadata.data(), metadata.size());
  std::copy(parts.constants.begin(), parts.constants.end(), file.data() + p.constants_offset);
  std::copy(parts.samples.begin(), parts.samples.end(), file.data() + p.samples_offset);
  file.prolog() = p;
  reseal(&file);
  return file;
}

void reseal(AlignedBytes* file) {
  if (file->size() < sizeof(BundleProlog)) return;
  BundleProlog& p = file->prolog();
  const uint64_t size = file->size();
  if (p.metadata_offset <= size && p.metadata_bytes <= size - p.metadata_offset) {
    p.metadata_checksum = Checksum64::of(file->data() + p.metadata_offset, p.metadata_bytes);
  }
  if (p.constants_offset <= size) {
    p.data_checksum = Checksum64::of(file->data() + p.constants_offset, size - p.constants_offset);
  }
  p.prolog_checksum = prolog_checksum(p);
}

std::string write_temp_file(const AlignedBytes& bytes, const std::string& name) {
  const auto folder =
      std::filesystem::temp_directory_path() / ("lazyrt_test_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  const std::string path = (folder / name).string();
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char*>(bytes.data()),
            static_cast<std::streamsize>(bytes.size()));
  return path;
}

}  // namespace lazyrt::test
