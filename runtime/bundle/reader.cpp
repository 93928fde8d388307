#include "runtime/bundle/reader.h"

#include <cinttypes>
#include <cstdio>
#include <cstring>

#include "runtime/bundle/structure.h"

namespace lazyrt {
namespace {

Fault bad(Word what) { return Fault(Error::kInvalidBundle, "prolog: %s", what); }

Fault check_identity(Span<const uint8_t> file) {
  if (reinterpret_cast<uintptr_t>(file.data()) % kBundleAlignment != 0) {
    return Fault(Error::kInvalidArgument, "the bundle's bytes must be aligned to %d",
                 static_cast<int>(kBundleAlignment));
  }
  if (file.size() < sizeof(kBundleMagic) ||
      std::memcmp(file.data(), kBundleMagic, sizeof(kBundleMagic)) != 0) {
    return Fault(Error::kInvalidBundle, "not a LazyRT bundle: it does not begin with %.8s",
                 kBundleMagic);
  }
  if (file.size() < sizeof(BundleProlog)) return bad("the file is truncated");
  return {};
}

Fault check_version(const BundleProlog& prolog) {
  if (prolog.major == kBundleMajor) return {};
  if (prolog.major == 0) return bad("version 0 does not exist");
  return Fault(Error::kVersion,
               "the bundle has format version %" PRIu32 ".%" PRIu32 ", this runtime reads %" PRIu32
               ".x: update the runtime or export again with its lazy-export",
               prolog.major, prolog.minor, kBundleMajor);
}

/// Checks sections in the order in which they follow each other in a file.
struct SectionCheck {
  uint64_t file_bytes;
  uint64_t end = sizeof(BundleProlog);  ///< of what was checked

  /// Checks that [offset, offset + bytes) is the next range and ends within the file. REQUIRES:
  /// alignment is a power of two.
  Fault next(Word name, uint32_t alignment, uint64_t offset, uint64_t bytes) {
    if ((static_cast<uint32_t>(offset) & (alignment - 1)) != 0) {
      return Fault(Error::kInvalidBundle, "prolog: %s section is not aligned to %" PRIu32, name,
                   alignment);
    }
    if (offset < end || offset - end >= alignment) {
      return Fault(Error::kInvalidBundle, "prolog: %s section is not next to the one before", name);
    }
    if (offset > file_bytes || bytes > file_bytes - offset) {
      return Fault(Error::kInvalidBundle, "prolog: %s section ends outside of the file", name);
    }
    end = offset + bytes;
    return {};
  }
};

Fault check_sections(const BundleProlog& p, uint64_t file_bytes) {
  SectionCheck check = {file_bytes};
  LAZYRT_RETURN_IF_ERROR(
      check.next("metadata", kBundleAlignment, p.metadata_offset, p.metadata_bytes));
  LAZYRT_RETURN_IF_ERROR(
      check.next("constants", kBundleAlignment, p.constants_offset, p.constants_bytes));
  if (p.constants_bytes < kBundleTailBytes) return bad("the constants section lacks its tail");
  if (p.samples_offset != 0 || p.samples_bytes != 0) {
    LAZYRT_RETURN_IF_ERROR(
        check.next("samples", kBundlePageBytes, p.samples_offset, p.samples_bytes));
  }
  if (check.end != file_bytes) return bad("bytes after the last section");
  return {};
}

Fault check_prolog(const BundleProlog& p, uint64_t file_bytes) {
  LAZYRT_RETURN_IF_ERROR(check_version(p));
  if (prolog_checksum(p) != p.prolog_checksum) return bad("its checksum does not match");
  if (p.file_bytes != file_bytes) {
    return Fault(Error::kInvalidBundle,
                 "prolog: the file should have %" PRIu64 " bytes, it has %" PRIu64, p.file_bytes,
                 file_bytes);
  }
  for (uint64_t word : p.reserved) {
    if (word != 0 && p.minor <= kBundleMinor) return bad("a reserved word is not 0");
  }
  return check_sections(p, file_bytes);
}

Fault check_data_checksum(Span<const uint8_t> file, const BundleProlog& p) {
  const auto data = file.subspan(p.constants_offset, file.size() - p.constants_offset);
  if (Checksum64::of(data.data(), data.size()) == p.data_checksum) return {};
  return Fault(Error::kInvalidBundle, "constants and samples: their checksum does not match");
}

/// The last bytes of a path that fit.
const char* path_end(const flatbuffers::String* path, size_t room) {
  const size_t n = path == nullptr ? 0 : path->size();
  return n <= room ? text_of(path) : path->c_str() + (n - room);
}

Fault too_long(Word what, uint32_t bytes, uint32_t most) {
  return Fault(Error::kInvalidBundle,
               "metadata: a %s of %" PRIu32 " bytes, at most %" PRIu32 " are allowed", what, bytes,
               most);
}

Fault judge(Span<const uint8_t> metadata, bool is_sound, const StructureFacts& facts) {
  if (!is_sound) {
    return Fault(Error::kInvalidBundle,
                 "metadata: the FlatBuffer is damaged, nested too deeply or too big");
  }
  if (facts.walked > metadata.size()) {
    return Fault(Error::kInvalidBundle,
                 "metadata: parts are shared between tables; each must have its own");
  }
  if (facts.longest_name > kBundleMaxNameBytes)
    return too_long("name", facts.longest_name, kBundleMaxNameBytes);
  if (facts.longest_text > kBundleMaxTextBytes)
    return too_long("text", facts.longest_text, kBundleMaxTextBytes);
  return {};
}

Fault check_flatbuffer(Span<const uint8_t> metadata) {
  if (metadata.size() >= FLATBUFFERS_MAX_BUFFER_SIZE)
    return Fault(Error::kInvalidBundle, "metadata of 2 GiB or more");
  if (metadata.size() < 8 || !fb::BundleBufferHasIdentifier(metadata.data())) {
    return Fault(Error::kInvalidBundle, "metadata: not a FlatBuffer of kind %s",
                 fb::BundleIdentifier());
  }
  StructureFacts facts;
  const bool is_sound = is_bundle_structure(metadata, &facts);
  return judge(metadata, is_sound, facts);
}

}  // namespace

Fault check_method_structure(Span<const uint8_t> metadata, const fb::Method& method) {
  StructureFacts facts;
  const bool is_sound = is_method_structure(metadata, method, &facts);
  return judge(metadata, is_sound, facts);
}

Fault read_sections(Span<const uint8_t> file, bool check_data, BundleSections* out) {
  LAZYRT_RETURN_IF_ERROR(check_identity(file));
  BundleProlog p;
  std::memcpy(&p, file.data(), sizeof(p));
  LAZYRT_RETURN_IF_ERROR(check_prolog(p, file.size()));
  const auto metadata = file.subspan(p.metadata_offset, p.metadata_bytes);
  if (Checksum64::of(metadata.data(), metadata.size()) != p.metadata_checksum) {
    return Fault(Error::kInvalidBundle, "metadata: its checksum does not match");
  }
  LAZYRT_RETURN_IF_ERROR(check_flatbuffer(metadata));
  if (check_data) LAZYRT_RETURN_IF_ERROR(check_data_checksum(file, p));
  out->bundle = fb::GetBundle(metadata.data());
  out->metadata = metadata;
  out->constants = file.subspan(p.constants_offset, p.constants_bytes);
  out->samples = file.subspan(p.samples_offset, p.samples_bytes);
  return {};
}

uint64_t prolog_checksum_of(const BundleSections& sections) {
  static_assert(sizeof(BundleProlog) % kBundleAlignment == 0, "the metadata begin right behind it");
  BundleProlog p;
  std::memcpy(&p, sections.metadata.data() - sizeof(p), sizeof(p));
  return p.prolog_checksum;
}

Shape shape_of(const flatbuffers::Vector<int64_t>* v) {
  return v == nullptr ? Shape() : Shape(Span<const int64_t>(v->data(), v->size()));
}

Span<const int32_t> inputs_of(const fb::Node& node) { return ints_of(node.inputs()); }

Span<const int32_t> outputs_of(const fb::Node& node) { return ints_of(node.outputs()); }

TensorSpec spec_of(const fb::Value& value) {
  return {dtype_of(value.dtype()), shape_of(value.shape())};
}

TensorView view_of(const fb::Value& value, const void* data) {
  return {const_cast<void*>(data), dtype_of(value.dtype()), shape_of(value.shape())};
}

SourcePlace source_place(const fb::Method& method, int32_t source) {
  SourcePlace place = {};
  if (LAZYRT_MESSAGES == 0) return place;
  if (source < 0 || static_cast<size_t>(source) >= count_of(method.sources())) return place;
  const fb::Source& s = source_at(method, source);
  const char* file = path_end(s.file(), 40);
  if (file[0] != '\0') snprintf(place.text, sizeof(place.text), "%s:%d", file, s.line());
  return place;
}

namespace {

const char* module_path_of(const fb::Method& method, int32_t source) {
  if (source < 0 || static_cast<size_t>(source) >= count_of(method.sources())) return "";
  return text_of(source_at(method, source).module_path());
}

}  // namespace

NodePlace node_place(const fb::Method& method, size_t index, const OpTable& ops) {
  NodePlace place = {};
  if (LAZYRT_MESSAGES == 0) return place;
  place.op = "unknown op";
  SourcePlace source = {};
  if (index < count_of(method.nodes())) {
    const fb::Node& node = node_at(method, index);
    const bool known = node.op() != nullptr && node.op_type() <= fb::OpAttrs::MAX;
    const OpEntry* entry = known ? ops.find(attrs_of(node)) : nullptr;
    if (entry != nullptr) place.op = entry->name;
    source = source_place(method, node.source());
    place.module_path = module_path_of(method, node.source());
  }
  const char* name = text_of(method.name());
  if (source.text[0] != '\0') {
    snprintf(place.text, sizeof(place.text), "method '%.30s', node %zu (%.30s from %s)", name,
             index, place.op, source.text);
  } else {
    snprintf(place.text, sizeof(place.text), "method '%.30s', node %zu (%.30s)", name, index,
             place.op);
  }
  return place;
}

}  // namespace lazyrt
