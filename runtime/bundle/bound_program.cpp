#include "runtime/bundle/bound_program.h"

#include <algorithm>
#include <cinttypes>
#include <cstring>

#include "runtime/bundle/arena_packing.h"
#include "runtime/bundle/method_check.h"
#include "runtime/bundle/symbol_numbers.h"
#include "runtime/bundle/verifier.h"

namespace lazyrt {
namespace {

bool is_equal(Span<const int32_t> a, Span<const int32_t> b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin());
}

/// Makes the copy say what one variant of the method is at other sizes.
///
/// A hostile file may let its tables overlap, so that what is written changes the structure of the
/// copy. So the places to write at come from the base, which never changes; the copy is read only
/// after its structure was verified, and never while it is written.
class Binder {
 public:
  Binder(const ProgramState& base, const fb::Method& variant, uint8_t* copy,
         const Allocator& memory)
      : base_(base), method_(variant), copy_(copy), memory_(memory), sections_(base.sections) {
    sections_.metadata = {copy, base.sections.metadata.size()};
  }

  Fault write(Span<const int64_t> symbols, const Governor& governor) {
    LAZYRT_RETURN_IF_ERROR(write_patches(symbols));
    write_input_extents(symbols);
    LAZYRT_RETURN_IF_ERROR(check_structure());
    MethodCheck derived(bound_method(), sections_, *base_.ops, memory_, governor);
    derived.mode = CheckMode::kDerive;
    LAZYRT_RETURN_IF_ERROR(check_rules(&derived));
    return place(&derived);
  }

  /// REQUIRES: nothing is written any more.
  Fault verify(const Governor& governor) {
    LAZYRT_RETURN_IF_ERROR(check_structure());
    LAZYRT_RETURN_IF_ERROR(verify_bound_method(sections_, bound_method(), *base_.ops, base_.options,
                                               memory_, governor));
    if (!has_same_nodes()) return structure_changes();
    return check_same_interface(method_, bound_method());
  }

  /// Undoes write(), however far it came.
  void restore() {
    for (uint32_t i = 0; i < count_of(method_.patches()); ++i) {
      PatchBytes patch;
      const fb::Patch& stored = *method_.patches()->Get(i);
      if (find_patch(base_.sections.metadata, method_, stored, &patch).ok())
        restore(base_.sections.metadata.data() + patch.offset, patch.width);
    }
    for (size_t id = 0; id < count_of(method_.values()); ++id) {
      const fb::Value& value = base_value(id);
      if (value.shape() != nullptr)
        restore(value.shape()->Data(), count_of(value.shape()) * sizeof(int64_t));
      restore_field<uint64_t>(value, fb::Value::VT_OFFSET);
      restore_field<uint64_t>(value, fb::Value::VT_BYTES);
      restore_field<int32_t>(value, fb::Value::VT_ALIAS_OF);
    }
    restore_field<uint64_t>(method_, fb::Method::VT_ARENA_BYTES);
  }

 private:
  const fb::Value& base_value(size_t id) const { return value_at(method_, id); }
  const fb::Method& bound_method() const {
    return *reinterpret_cast<const fb::Method*>(in_copy(&method_));
  }
  uint8_t* in_copy(const void* part) const { return copy_ + base_.sections.place_of(part); }
  /// REQUIRES: the field is stored, as check_symbols made sure.
  uint8_t* field_in_copy(const void* table, flatbuffers::voffset_t field) const {
    return in_copy(static_cast<const flatbuffers::Table*>(table)->GetAddressOf(field));
  }
  template <class T>
  void write_field(const void* table, flatbuffers::voffset_t field, T value) {
    std::memcpy(field_in_copy(table, field), &value, sizeof(T));
  }
  void write_extent(const fb::Value& value, size_t dim, int64_t extent) {
    std::memcpy(in_copy(value.shape()->Data()) + dim * sizeof(extent), &extent, sizeof(extent));
  }

  void restore(const void* part, size_t bytes) {
    if (bytes != 0) std::memcpy(in_copy(part), part, bytes);
  }
  template <class T, class Table>
  void restore_field(const Table& table, flatbuffers::voffset_t field) {
    const uint8_t* stored = reinterpret_cast<const flatbuffers::Table&>(table).GetAddressOf(field);
    if (stored != nullptr) restore(stored, sizeof(T));
  }

  Fault write_patches(Span<const int64_t> symbols) {
    Pool pool(memory_);
    Span<TermNumber> numbers;
    LAZYRT_RETURN_IF_ERROR(evaluate_terms(method_, symbols, &pool, &numbers));
    for (uint32_t i = 0; i < count_of(method_.patches()); ++i) {
      PatchBytes patch;
      LAZYRT_RETURN_IF_ERROR(
          make_patch(base_.sections.metadata, method_, *method_.patches()->Get(i), numbers, &patch)
              .with_context("patch %u", static_cast<unsigned>(i)));
      std::memcpy(copy_ + patch.offset, patch.bytes, patch.width);
    }
    return {};
  }

  void write_input_extents(Span<const int64_t> symbols) {
    for (size_t id = 0; id < count_of(method_.values()); ++id) {
      const fb::Value& value = base_value(id);
      if (value.kind() != fb::ValueKind::Input) continue;
      for (size_t dim = 0; dim < count_of(value.symbols()); ++dim) {
        const ExtentRule rule = rule_of(method_, value, static_cast<int>(dim));
        if (rule.symbol >= 0)
          write_extent(value, dim, rule.at(symbols[static_cast<size_t>(rule.symbol)]));
      }
    }
  }

  /// To be called before code walks the variant's copy, or takes its numbers for those of the base.
  Fault check_structure() {
    LAZYRT_RETURN_IF_ERROR(check_method_structure(sections_.metadata, bound_method()));
    const bool same = count_of(bound_method().values()) == count_of(method_.values()) &&
                      count_of(bound_method().nodes()) == count_of(method_.nodes()) &&
                      count_of(bound_method().guards()) == count_of(method_.guards());
    return same ? Fault() : structure_changes();
  }
  static Fault structure_changes() {
    return bad_bundle("what its patches write changes its structure");
  }

  /// To be called before code that reads nodes in the base, as taps do, takes the operands of the
  /// copy for theirs. REQUIRES: check_structure was ok.
  bool has_same_nodes() const {
    for (uint32_t i = 0; i < count_of(method_.nodes()); ++i) {
      const fb::Node &node = node_at(method_, i), &bound = node_at(bound_method(), i);
      if (node.op_type() != bound.op_type() || !is_equal(inputs_of(node), inputs_of(bound)) ||
          !is_equal(outputs_of(node), outputs_of(bound))) {
        return false;
      }
    }
    return true;
  }

  /// Whose memory a value is in.
  struct Share {
    uint32_t root;     ///< the first value in that memory
    int32_t last_use;  ///< of a root: that of all that is in it
    uint32_t piece;    ///< of a root
  };

  /// A value that was written over another one and no longer has its size gets memory of its own.
  void find_roots(MethodCheck* check, Span<Share> shares) const {
    for (size_t id = 0; id < check->values.size(); ++id) {
      ValueFacts& facts = check->values[id];
      Share& share = shares[id];
      share.root = static_cast<uint32_t>(id);
      share.last_use = facts.last_use;
      if (facts.alias_of < 0 || static_cast<size_t>(facts.alias_of) >= id) continue;
      const auto target = static_cast<size_t>(facts.alias_of);
      if (check->values[target].spec.numel() != facts.spec.numel() ||
          check->values[target].bytes != facts.bytes) {
        facts.alias_of = -1;
        continue;
      }
      share.root = shares[target].root;
      int32_t& last_use = shares[share.root].last_use;
      last_use = std::max(last_use, facts.last_use);
    }
  }

  static bool is_in_arena(const ValueFacts& facts) {
    return facts.kind == fb::ValueKind::Arena || facts.kind == fb::ValueKind::Input;
  }

  Fault add_pieces(const MethodCheck& check, Span<Share> shares, Span<ArenaPiece> pieces,
                   size_t* count) const {
    uint64_t total = 0;
    for (size_t id = 0; id < check.values.size(); ++id) {
      const ValueFacts& facts = check.values[id];
      Share& share = shares[id];
      if (!is_in_arena(facts) || share.root != id) continue;
      share.piece = static_cast<uint32_t>(*count);
      ArenaPiece& piece = pieces[(*count)++];
      piece.first = facts.made_at;
      piece.last = share.last_use;
      piece.bytes = room_of(facts.bytes);
      if (__builtin_add_overflow(total, piece.bytes, &total) || total > INT64_MAX)
        return Fault(Error::kOutOfMemory, "its values are too large");
    }
    return {};
  }

  /// Finds a place for each value, and writes all that derive() found.
  Fault place(MethodCheck* check) {
    const size_t count = check->values.size();
    const auto shares = check->memory.make<Share>(count);
    const auto pieces = check->memory.make<ArenaPiece>(count);
    if (check->memory.is_short()) return no_memory_to_check();
    find_roots(check, shares);
    size_t used = 0;
    LAZYRT_RETURN_IF_ERROR(add_pieces(*check, shares, pieces, &used));
    uint64_t total = 0;
    if (!pack_arena({pieces.data(), used}, memory_, most_pairs_for(used), &total))
      return no_memory_to_check();
    LAZYRT_RETURN_IF_ERROR(check_arena(total));
    for (size_t id = 0; id < count; ++id) {
      if (is_in_arena(check->values[id]))
        write_value(id, check->values[id], pieces[shares[shares[id].root].piece].offset);
    }
    write_field<uint64_t>(&method_, fb::Method::VT_ARENA_BYTES, total);
    return {};
  }

  Fault check_arena(uint64_t bytes) const {
    const uint64_t limit = memory_limit_of(base_.options.memory_limit);
    if (bytes <= limit) return {};
    return Fault(Error::kOutOfMemory, "its arena needs %" PRIu64 " bytes, memory_limit is %" PRIu64,
                 bytes, limit);
  }

  void write_value(size_t id, const ValueFacts& facts, uint64_t offset) {
    const fb::Value& value = base_value(id);
    if (value.kind() != facts.kind) return;  // the patched copy's: what is written is wrong anyway
    const Shape& shape = facts.spec.shape;
    const size_t rank = std::min(count_of(value.shape()), shape.size());
    if (rank != 0)
      std::memcpy(in_copy(value.shape()->Data()), shape.data(), rank * sizeof(int64_t));
    write_field<uint64_t>(&value, fb::Value::VT_OFFSET, offset);
    write_field<uint64_t>(&value, fb::Value::VT_BYTES, facts.bytes);
    write_field<int32_t>(&value, fb::Value::VT_ALIAS_OF, facts.alias_of);
  }

  const ProgramState& base_;
  const fb::Method& method_;  ///< the base's variant
  uint8_t* const copy_;
  const Allocator memory_;
  BundleSections sections_;  ///< with the copy as metadata
};

/// A corner of a variant's bounds: the smallest sizes that it takes, or the largest.
struct Corner {
  Corner(const fb::Method& method, size_t variant, bool is_largest)
      : count(count_of(method.symbols())), largest(is_largest) {
    find_bounds(variant_of(method, variant), largest, sizes);
  }
  Span<const int64_t> symbols() const { return {sizes, count}; }
  bool operator==(const Corner& other) const {
    return std::equal(sizes, sizes + count, other.sizes);
  }

  int64_t sizes[kBundleMaxSymbols] = {};
  size_t count;
  bool largest;
};

/// Returns corner `index` of a method: each variant has two.
Corner corner_of(const fb::Method& method, size_t index) {
  return {method, index / 2, index % 2 == 1};
}

bool came_before(const fb::Method& method, size_t index) {
  const Corner corner = corner_of(method, index);
  for (size_t i = 0; i < index; ++i) {
    if (corner_of(method, i) == corner) return true;
  }
  return false;
}

size_t count_taking(const fb::Method& method, Span<const int64_t> symbols) {
  size_t count = 0;
  for (size_t v = 0; v < variants_of(method); ++v)
    count += takes_sizes(variant_of(method, v), symbols) ? 1 : 0;
  return count;
}

/// Counts the bindings of check_bounds until there are too many.
class BindingCount {
 public:
  Fault add_variants(size_t variants) {
    variants_ += variants;
    if (variants_ <= kBundleMaxSizedMethods) return {};
    return bad_bundle("more than %u methods and variants with symbols",
                      static_cast<unsigned>(kBundleMaxSizedMethods));
  }
  Fault add_bound(size_t variants) {
    bound_ += variants;
    if (bound_ <= 2 * kBundleMaxSizedMethods) return {};
    return bad_bundle("the bounds of its variants overlap in too many ways");
  }

 private:
  size_t variants_ = 0;
  size_t bound_ = 0;
};

Fault check_corners(const ProgramState& program, size_t index, BoundProgram* bound,
                    BindingCount* count) {
  const fb::Method& method = program.method(index);
  LAZYRT_RETURN_IF_ERROR(count->add_variants(variants_of(method)));
  for (size_t i = 0; i < 2 * variants_of(method); ++i) {
    if (came_before(method, i)) continue;
    const Corner corner = corner_of(method, i);
    LAZYRT_RETURN_IF_ERROR(count->add_bound(count_taking(method, corner.symbols())));
    LAZYRT_RETURN_IF_ERROR(
        bound->bind(index, corner.symbols(), nullptr)
            .with_context("at its %s sizes", corner.largest ? "largest" : "smallest"));
  }
  return {};
}

}  // namespace

BoundProgram::~BoundProgram() {
  if (metadata_ != nullptr) memory_.release(memory_.context, metadata_);
}

Fault BoundProgram::make(const ProgramState& base, const Allocator& memory) {
  const Span<const uint8_t> metadata = base.sections.metadata;
  base_ = &base;
  memory_ = memory;
  metadata_ = static_cast<uint8_t*>(
      memory.allocate(memory.context, metadata.size(), static_cast<size_t>(kBundleAlignment)));
  if (metadata_ == nullptr)
    return Fault(Error::kOutOfMemory, "no memory for a method of other sizes");
  std::memcpy(metadata_, metadata.data(), metadata.size());
  state_.sections = base.sections;
  state_.bound_metadata = metadata_;
  state_.ops = base.ops;
  state_.options = base.options;
  state_.bytes = base.bytes;
  state_.allocator = base.allocator;
  return {};
}

/// Runs one step for each variant of the method that takes the sizes.
Fault BoundProgram::for_each_variant(Stage stage, const Governor& governor) {
  const Span<const int64_t> symbols = {symbols_, count_of(base_->method(method_).symbols())};
  for (size_t v = 0; v < base_->variant_count(method_); ++v) {
    const fb::Method& variant = base_->variant(method_, v);
    if (!takes_sizes(variant, symbols)) continue;
    Binder binder(*base_, variant, metadata_, memory_);
    Fault status;
    if (stage == Stage::kRestore) binder.restore();
    if (stage == Stage::kWrite) status = binder.write(symbols, governor);
    if (stage == Stage::kVerify) status = binder.verify(governor);
    if (!status.ok()) return v == 0 ? status : status.with_context("variant %zu", v);
  }
  return {};
}

/// In a hostile file, what one variant writes may change another one, so all are verified
/// afterwards.
Fault BoundProgram::bind(size_t method, Span<const int64_t> symbols, const RunStop* stop) {
  const fb::Method& m = base_->method(method);
  LAZYRT_RETURN_IF_ERROR(check_sizes(m, symbols));
  WorkMeter work(base_->options);
  if (is_bound_) (void)for_each_variant(Stage::kRestore, {&work, stop});
  is_bound_ = true;
  method_ = method;
  std::copy(symbols.begin(), symbols.end(), symbols_);
  Fault status;
  for (const Stage stage : {Stage::kWrite, Stage::kVerify}) {
    work.begin_method();
    if (status.ok()) status = for_each_variant(stage, {&work, stop});
  }
  return status.with_context("method '%.30s' with %s", text_of(m.name()),
                             sizes_text(m, symbols).text);
}

Fault check_bounds(const ProgramState& program, const Allocator& memory) {
  BindingCount count;
  BoundProgram bound;
  bool is_made = false;
  for (size_t i = 0; i < program.method_count(); ++i) {
    if (count_of(program.method(i).symbols()) == 0) continue;
    if (!is_made) LAZYRT_RETURN_IF_ERROR(bound.make(program, memory));
    is_made = true;
    LAZYRT_RETURN_IF_ERROR(check_corners(program, i, &bound, &count));
  }
  return {};
}

}  // namespace lazyrt
