#include "host_tracer/emit/bundle_writer.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "host_tracer/emit/metadata.h"
#include "host_tracer/support/partial_file.h"
#include "schema/bundle_file.h"

namespace lazyrt {
namespace {

/// Writes a file from front to back and computes the checksum of what follows `start_checksum`. The
/// first error sticks.
class FileWriter {
 public:
  explicit FileWriter(const std::string& path) : file_(open_new_file(path)) {
    if (file_ == nullptr) error_ = errno;
  }

  void write(const void* data, uint64_t bytes) {
    if (error_ != 0) return;
    if (bytes > 0 && std::fwrite(data, 1, bytes, file_.get()) != bytes)
      error_ = errno != 0 ? errno : EIO;
    if (summing_) checksum_.update(data, bytes);
    at_ += bytes;
  }
  void zeros_to(uint64_t offset) {
    static constexpr char kZeros[4096] = {};
    while (at_ < offset && error_ == 0) {
      write(kZeros, std::min<uint64_t>(offset - at_, sizeof(kZeros)));
    }
  }
  void start_checksum() { summing_ = true; }
  uint64_t checksum() const { return checksum_.value(); }

  /// Replaces the first bytes and closes the file.
  Outcome<Done> finish(const void* head, size_t bytes, const std::string& shown_path) {
    summing_ = false;
    if (error_ == 0 && std::fseek(file_.get(), 0, SEEK_SET) != 0) error_ = errno;
    write(head, bytes);
    if (error_ == 0 && std::fflush(file_.get()) != 0) error_ = errno;
    if (file_ != nullptr && std::fclose(file_.release()) != 0 && error_ == 0) error_ = errno;
    if (error_ == 0) return Done{};
    return Failure{Error::kIo, "cannot write " + shown_path + ": " + std::strerror(error_)};
  }

 private:
  FileHandle file_;
  int error_ = 0;
  uint64_t at_ = 0;
  bool summing_ = false;
  Checksum64 checksum_;
};

void write_section(FileWriter& out, const Section& section, uint64_t offset) {
  out.zeros_to(offset);
  for (const Section::Piece& piece : section.pieces()) {
    out.zeros_to(offset + piece.offset);
    out.write(piece.data, piece.bytes);
  }
}

/// Everything of the prolog but the checksums of what follows it.
BundleProlog layout(uint64_t metadata_bytes, const Section& constants, const Section& samples) {
  BundleProlog p = {};
  std::memcpy(p.magic, kBundleMagic, sizeof(p.magic));
  p.major = kBundleMajor;
  p.minor = kBundleMinor;
  p.metadata_offset = align_up(sizeof(BundleProlog), kBundleAlignment);
  p.metadata_bytes = metadata_bytes;
  p.constants_offset = align_up(p.metadata_offset + metadata_bytes, kBundleAlignment);
  p.constants_bytes = constants.bytes() + kBundleTailBytes;
  p.file_bytes = p.constants_offset + p.constants_bytes;
  if (samples.bytes() > 0) {
    p.samples_offset = align_up(p.file_bytes, kBundlePageBytes);
    p.samples_bytes = samples.bytes();
    p.file_bytes = p.samples_offset + p.samples_bytes;
  }
  return p;
}

Outcome<Done> write_file(const std::string& path, const std::string& shown_path,
                         BundleProlog prolog, const uint8_t* metadata, const Section& constants,
                         const Section& samples) {
  FileWriter out(path);
  out.zeros_to(prolog.metadata_offset);
  out.write(metadata, prolog.metadata_bytes);
  out.zeros_to(prolog.constants_offset);
  out.start_checksum();
  write_section(out, constants, prolog.constants_offset);
  out.zeros_to(prolog.constants_offset + prolog.constants_bytes);
  if (prolog.samples_offset != 0) write_section(out, samples, prolog.samples_offset);
  prolog.metadata_checksum = Checksum64::of(metadata, prolog.metadata_bytes);
  prolog.data_checksum = out.checksum();
  prolog.prolog_checksum = prolog_checksum(prolog);
  return out.finish(&prolog, sizeof(prolog), shown_path);
}

}  // namespace

Outcome<EmitReport> write_bundle(const Graph& graph, const MemoryPlan& plan,
                                 const EmitOptions& options, const std::string& path) {
  return write_bundle({MethodVariant{graph, plan, {}, nullptr}}, options, path);
}

Outcome<EmitReport> write_bundle(const std::vector<MethodVariant>& variants,
                                 const EmitOptions& options, const std::string& path) {
  Section constants(kBundleAlignment), samples(kBundleAlignment);
  auto metadata = make_metadata(variants, options, &constants, &samples);
  if (!metadata.ok()) return metadata.failure();
  flatbuffers::FlatBufferBuilder builder;
  // Numbers that a runtime overwrites have to be stored, even if they are defaults.
  builder.ForceDefaults(std::any_of(variants.begin(), variants.end(),
                                    [](const MethodVariant& v) { return v.dynamic != nullptr; }));
  fb::FinishBundleBuffer(builder, fb::Bundle::Pack(builder, &*metadata));
  const BundleProlog prolog = layout(builder.GetSize(), constants, samples);
  PartialFile partial(path);
  const std::string& shown_path = options.shown_path.empty() ? path : options.shown_path;
  LAZYRT_TRY(write_file(partial.path(), shown_path, prolog, builder.GetBufferPointer(), constants,
                        samples));
  LAZYRT_TRY(partial.publish(shown_path));
  EmitReport report;
  report.file_bytes = prolog.file_bytes;
  report.metadata_bytes = prolog.metadata_bytes;
  report.constants_bytes = prolog.constants_bytes;
  report.samples_bytes = prolog.samples_bytes;
  report.shared_bytes = constants.shared_bytes();
  for (const MethodVariant& variant : variants) {
    for (ValueId id = 0; id < static_cast<ValueId>(variant.graph.value_count()); ++id) {
      report.constants += variant.graph.value(id).kind == ValueKind::kConstant ? 1 : 0;
    }
  }
  return report;
}

}  // namespace lazyrt
