#include "tests/fuzz/patch_edit.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "tests/fuzz/bundle_edit.h"
#include "tests/support/free_layout.h"
#include "tests/support/reflect.h"

namespace lazyrt::fuzz {
namespace {

using flatbuffers::ReadScalar;
using flatbuffers::TypeTable;
using flatbuffers::WriteScalar;
using test::BundleParts;

constexpr size_t kSpareSlots = 8;
constexpr size_t kMostPatches = 6;

std::vector<uint8_t> laid_out(Random* random, const BundleParts& parts) {
  flatbuffers::FlatBufferBuilder builder;
  builder.ForceDefaults(true);
  fb::FinishBundleBuffer(builder, fb::CreateBundle(builder, &parts.bundle));
  const bool in_order = random->one_in(2);
  const auto any = [random](size_t n) { return random->below(n); };
  return test::lay_out({builder.GetBufferPointer(), builder.GetSize()}, kSpareSlots,
                       in_order ? test::ChooseFirst() : any);
}

uint8_t* root_of(std::vector<uint8_t>* metadata) {
  return metadata->data() + ReadScalar<uint32_t>(metadata->data());
}

/// Makes references lead where others of their kind do, or some words behind it.
void share_parts(Random* random, size_t count, std::vector<uint8_t>* metadata) {
  std::map<std::string, std::vector<uint8_t*>> references;
  test::visit_fields(root_of(metadata), fb::BundleTypeTable(), [&](const test::FieldAt& f) {
    if (f.is_offset) references[f.path].push_back(f.where);
  });
  for (; count > 0; --count) {
    auto path = references.begin();
    std::advance(path, static_cast<std::ptrdiff_t>(random->below(references.size())));
    uint8_t* from = random->any(path->second);
    const uint8_t* like = random->any(path->second);
    const uint8_t* to = like + ReadScalar<uint32_t>(like);
    if (random->one_in(4)) to += 8 * random->below(4);
    if (to > from && to < metadata->data() + metadata->size())
      WriteScalar(from, static_cast<uint32_t>(to - from));
  }
}

/// Adds wild patches to one method.
class WildPatches {
 public:
  WildPatches(Random* random, BundleParts* parts) : random_(*random), parts_(*parts) {
    std::vector<size_t> sized;
    for (size_t i = 0; i < parts->bundle.methods.size(); ++i) {
      if (!parts->bundle.methods[i]->symbols.empty()) sized.push_back(i);
    }
    method_ = random->any(sized);
  }

  test::AlignedBytes write() {
    parts_.bundle.producer = kWildProducer;
    fb::MethodT& method = *parts_.bundle.methods[method_];
    if (random_.one_in(8)) vary(&method);
    drop_unknown_fields(&method);
    for (auto& variant : method.variants) drop_unknown_fields(variant.get());
    for (size_t n = 1 + random_.below(kMostPatches); n > 0; --n) reserve_patch(&method);
    metadata_ = laid_out(&random_, parts_);
    note_places();
    for (size_t k = 0; k < wild_.size(); ++k) aim(k);
    return test::write_bundle(metadata_, parts_);
  }

 private:
  /// A patch and its terms, whose numbers follow when it is known what lies where.
  struct Wild {
    size_t variant, node, patch;
    int symbol;
    int64_t file_size;  ///< of the symbol
    test::Switch number;
  };
  /// What a patch writes.
  struct Target {
    uint8_t* at = nullptr;
    fb::FieldType type = fb::FieldType::Int32;
    size_t field = 0;
    int index = -1;
  };

  fb::MethodT& program(fb::MethodT* method, size_t variant) {
    return variant == 0 ? *method : *method->variants[variant - 1];
  }

  void vary(fb::MethodT* method) {
    if (random_.one_in(2) && method->variants.size() < 4) {
      auto variant = std::make_unique<fb::MethodT>(*method);
      variant->variants.clear();
      method->variants.push_back(std::move(variant));
    }
    fb::MethodT& m = program(method, random_.below(method->variants.size() + 1));
    fb::SymbolT& symbol = *random_.any(m.symbols);
    symbol.min = 1 + static_cast<int64_t>(random_.below(4));
    symbol.max = symbol.min + static_cast<int64_t>(random_.below(9));
  }

  /// Slots that the schema lacks were lost when the file was read.
  static void drop_unknown_fields(fb::MethodT* m) {
    const auto is_unknown = [m](const fb::Patch& patch) {
      const auto node = static_cast<size_t>(patch.node());
      if (patch.node() < 0 || node >= m->nodes.size() || !has_attributes(*m->nodes[node]))
        return true;
      const TypeTable& type = test::attributes_type(m->nodes[node]->op.type);
      return patch.field() < 0 || static_cast<size_t>(patch.field()) >= type.num_elems;
    };
    m->patches.erase(std::remove_if(m->patches.begin(), m->patches.end(), is_unknown),
                     m->patches.end());
  }

  static bool has_attributes(const fb::NodeT& node) {
    return node.op.type > fb::OpAttrs::NONE && node.op.type <= fb::OpAttrs::MAX;
  }

  static int64_t size_in_file(const fb::MethodT& m, int symbol) {
    for (const auto& value : m.values) {
      for (size_t dim = 0; dim < value->symbols.size() && dim < value->shape.size(); ++dim) {
        if (value->symbols[dim] == symbol) return value->shape[dim];
      }
    }
    return -1;
  }

  void reserve_patch(fb::MethodT* method) {
    Wild wild = {};
    wild.variant = random_.below(method->variants.size() + 1);
    fb::MethodT& m = program(method, wild.variant);
    if (m.nodes.empty() || m.symbols.empty()) return;
    wild.node = random_.below(m.nodes.size());
    if (!has_attributes(*m.nodes[wild.node])) return;
    wild.symbol = static_cast<int>(random_.below(m.symbols.size()));
    wild.file_size = size_in_file(m, wild.symbol);
    wild.number = test::add_switch(&m, wild.symbol);
    wild.patch = m.patches.size();
    m.patches.emplace_back(static_cast<int>(wild.node), 0, -1, wild.number.term,
                           fb::FieldType::Int32);
    wild_.push_back(wild);
  }

  void note_places() {
    test::visit_fields(root_of(&metadata_), fb::BundleTypeTable(), [&](const test::FieldAt& f) {
      places_.push_back(f.where - (f.where - metadata_.data()) % 4);
      if (!f.is_vector) return;
      uint8_t* vector = f.where + ReadScalar<uint32_t>(f.where);
      const size_t width = std::max<size_t>(test::scalar_bytes(f.type), 4);
      const size_t count = std::min<size_t>(ReadScalar<uint32_t>(vector), 8);
      for (size_t i = 0; i <= count; ++i) {
        uint8_t* place = i == 0 ? vector : vector + 4 + (i - 1) * width;
        if (place + 8 <= metadata_.data() + metadata_.size()) places_.push_back(place);
      }
    });
  }

  const fb::Method& laid(size_t variant) const {
    return test::variant_in(metadata_, method_, variant);
  }

  /// Terms and patches are set in place later.
  bool is_in_patches(const uint8_t* place) const {
    const auto holds = [place](const auto* vector) {
      if (vector == nullptr) return false;
      const auto* begin = reinterpret_cast<const uint8_t*>(vector);
      const auto* end = reinterpret_cast<const uint8_t*>(vector->Data()) +
                        vector->size() * sizeof(**vector->begin());
      return place + 8 > begin && place < end;
    };
    for (const Wild& wild : wild_) {
      if (holds(laid(wild.variant).terms()) || holds(laid(wild.variant).patches())) return true;
    }
    return false;
  }

  /// One that the table's slots reach; nullptr: none was found.
  uint8_t* any_place(const uint8_t* table, size_t width) {
    for (int turn = 0; turn < 16; ++turn) {
      uint8_t* place = random_.any(places_);
      if (last_place_ != nullptr && random_.one_in(2))
        place = last_place_ + 4 * random_.below(16);  // what belongs together changes together
      else if (random_.one_in(3))
        place = metadata_.data() + 4 * random_.below(metadata_.size() / 4);
      const auto offset = static_cast<size_t>(place - metadata_.data());
      place = metadata_.data() + offset / width * width;
      if (place + 8 <= metadata_.data() + metadata_.size() && !is_in_patches(place) &&
          test::is_in_reach(table, place))
        return place;
    }
    return nullptr;
  }

  void aim(size_t k) {
    const fb::Node& node =
        *laid(wild_[k].variant).nodes()->Get(static_cast<uint32_t>(wild_[k].node));
    auto* table = static_cast<uint8_t*>(const_cast<void*>(node.op()));
    const TypeTable& type = test::attributes_type(node.op_type());
    Target target;
    if (!random_.one_in(8))
      target = random_.one_in(2) ? moved_target(table, type) : own_target(table, type);
    if (target.at == nullptr) target = far_target(table, type.num_elems + k, random_.one_in(4));
    if (target.at == nullptr) target = {table, fb::FieldType::Int32, type.num_elems + k, -1};
    write_patch(wild_[k], target);
  }

  /// A slot of the table becomes any place.
  Target far_target(uint8_t* table, size_t slot, bool is_wide) {
    uint8_t* place = any_place(table, is_wide ? 8 : 4);
    if (place == nullptr) return {};
    test::lead_slot(&metadata_, table, slot, place);
    last_place_ = place;
    return {place, is_wide ? fb::FieldType::Int64 : fb::FieldType::Int32, slot, -1};
  }

  /// A number that the schema has; it is no longer in its table.
  Target moved_target(uint8_t* table, const TypeTable& type) {
    if (type.num_elems == 0) return {};
    const size_t slot = random_.below(type.num_elems);
    const size_t width = test::scalar_bytes(
        static_cast<flatbuffers::ElementaryType>(type.type_codes[slot].base_type));
    if (width < 4 || type.type_codes[slot].is_repeating != 0) return {};
    return far_target(table, slot, width == 8);
  }

  /// A number of the table, or an element of a vector that it shares with whom it may.
  Target own_target(uint8_t* table, const TypeTable& type) {
    if (type.num_elems == 0) return {};
    const size_t slot = random_.below(type.num_elems);
    const auto field = reinterpret_cast<const flatbuffers::Table*>(table)->GetOptionalFieldOffset(
        static_cast<flatbuffers::voffset_t>(4 + 2 * slot));
    const auto base = static_cast<flatbuffers::ElementaryType>(type.type_codes[slot].base_type);
    const size_t width = test::scalar_bytes(base);
    if (field == 0 || width < 4) return {};
    const fb::FieldType written = width == 8 ? fb::FieldType::Int64 : fb::FieldType::Int32;
    uint8_t* at = table + field;
    if (type.type_codes[slot].is_repeating == 0)
      return {at, has_integer(at, base) ? field_type(base) : written, slot, -1};
    const uint8_t* vector = at + ReadScalar<uint32_t>(at);
    const auto count = ReadScalar<uint32_t>(vector);
    if (count == 0) return {};
    if (!random_.one_in(4)) vector = any_equal(at, vector, 4 + count * width, width);
    WriteScalar(at, static_cast<uint32_t>(vector - at));
    const size_t index = random_.below(count);
    return {const_cast<uint8_t*>(vector) + 4 + index * width, written, slot,
            static_cast<int>(index)};
  }

  static bool has_integer(const uint8_t* at, flatbuffers::ElementaryType type) {
    const double x = type == flatbuffers::ET_FLOAT    ? static_cast<double>(ReadScalar<float>(at))
                     : type == flatbuffers::ET_DOUBLE ? ReadScalar<double>(at)
                                                      : NAN;
    return std::fabs(x) < 1e9 && x == std::floor(x);
  }
  static fb::FieldType field_type(flatbuffers::ElementaryType type) {
    return type == flatbuffers::ET_FLOAT ? fb::FieldType::Float32 : fb::FieldType::Float64;
  }

  /// A vector ahead of the reference that holds the same bytes, of whatever table.
  const uint8_t* any_equal(const uint8_t* reference, const uint8_t* part, size_t bytes,
                           size_t width) {
    std::vector<const uint8_t*> equal = {part};
    const uint8_t* end = metadata_.data() + metadata_.size();
    for (const uint8_t* at = reference + 4; at + bytes <= end; at += 4) {
      if (static_cast<size_t>(at + 4 - metadata_.data()) % width != 0) continue;
      if (std::memcmp(at, part, bytes) == 0 && !is_in_patches(at)) equal.push_back(at);
    }
    return random_.any(equal);
  }

  int64_t read(const Target& target) const {
    switch (target.type) {
      case fb::FieldType::Int32:
        return ReadScalar<int32_t>(target.at);
      case fb::FieldType::Int64:
        return ReadScalar<int64_t>(target.at);
      case fb::FieldType::Float32:
        return static_cast<int64_t>(ReadScalar<float>(target.at));
      default:
        return static_cast<int64_t>(ReadScalar<double>(target.at));
    }
  }

  /// The distance from a place to what another reference leads to.
  int64_t distance_as(const uint8_t* at, const uint8_t* reference) const {
    return reference - at + static_cast<int64_t>(ReadScalar<uint32_t>(reference));
  }

  int64_t draw(const uint8_t* at, int64_t held) {
    const auto sum = [held](uint64_t step) {
      return static_cast<int64_t>(static_cast<uint64_t>(held) + step);
    };
    const auto words = static_cast<size_t>(metadata_.data() + metadata_.size() - at) / 4;
    switch (random_.below(8)) {
      case 0:
        return static_cast<int64_t>(random_.below(24)) - 1;
      case 1:
        return sum(random_.below(9) - 4);
      case 2:
        return sum(4 * (random_.below(65) - 32));
      case 3:
        return ReadScalar<int32_t>(metadata_.data() + 4 * random_.below(metadata_.size() / 4));
      case 4:
        return distance_as(at, random_.any(places_));
      case 5:
        return words < 6 ? held : distance_as(at, at + 4 * (1 + random_.below(4)));
      case 6:
        return int64_t{1} << random_.below(40);
      default:
        return held ^ (int64_t{1} << random_.below(16));
    }
  }

  void write_patch(const Wild& wild, const Target& target) {
    const fb::Method& m = laid(wild.variant);
    const fb::Patch patch(static_cast<int>(wild.node), static_cast<int>(target.field), target.index,
                          wild.number.term, target.type);
    std::memcpy(const_cast<fb::Patch*>(m.patches()->Get(static_cast<uint32_t>(wild.patch))), &patch,
                sizeof(patch));
    const int64_t held = read(target);
    int64_t then = draw(target.at, held);
    if (target.type != fb::FieldType::Int64) then = static_cast<int32_t>(then);
    const fb::Symbol& symbol = *m.symbols()->Get(static_cast<uint32_t>(wild.symbol));
    int64_t size = std::min(symbol.min(), INT64_MAX - 8) + static_cast<int64_t>(random_.below(8));
    if (size == wild.file_size) ++size;
    test::set_switch(&metadata_, m, wild.number, size, then, held);
  }

  Random& random_;
  BundleParts& parts_;
  size_t method_ = 0;
  std::vector<Wild> wild_;
  std::vector<uint8_t> metadata_;
  std::vector<uint8_t*> places_;
  uint8_t* last_place_ = nullptr;
};

}  // namespace

bool has_symbols(const BundleParts& parts) {
  return std::any_of(parts.bundle.methods.begin(), parts.bundle.methods.end(),
                     [](const auto& method) { return !method->symbols.empty(); });
}

test::AlignedBytes write_with_wild_patches(Random* random, BundleParts* parts) {
  return WildPatches(random, parts).write();
}

test::AlignedBytes write_with_shared_parts(Random* random, const BundleParts& parts) {
  std::vector<uint8_t> metadata = laid_out(random, parts);
  share_parts(random, 1 + random->below(4), &metadata);
  return test::write_bundle(metadata, parts);
}

}  // namespace lazyrt::fuzz
