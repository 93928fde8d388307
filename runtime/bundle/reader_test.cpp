// The file around the metadata: prolog, versions, checksums, truncation, damage.

#include "runtime/bundle/reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "lazyrt/runtime.h"
#include "tests/support/branching_bundle.h"
#include "tests/support/dynamic_bundle.h"
#include "tests/support/tiny_ops.h"

namespace lazyrt {
namespace {

using test::AlignedBytes;
using testing::HasSubstr;

AlignedBytes tiny_file() { return test::write_bundle(test::tiny_bundle()); }

Status load(const AlignedBytes& file, const LoadOptions& options = {}) {
  return Program::load(file.span(), test::tiny_ops(), options).status();
}

void set_zeros(const Method& method, size_t variant, Session* session) {
  for (size_t i = 0; i < method.input_count(); ++i) {
    const TensorInfo info = method.input(i, variant);
    std::vector<uint8_t> zeros(static_cast<size_t>(info.shape.numel()) * dtype_size(info.dtype) +
                               1);
    EXPECT_TRUE(session->set_input(i, {zeros.data(), info.dtype, info.shape}).ok());
  }
}

/// Loads, and uses whatever loads: for damage that the checks may or may not see.
Error use(const AlignedBytes& file) {
  LoadOptions limits;
  limits.memory_limit = 1 << 20;
  const Result<Program> program = Program::load(file.span(), test::tiny_ops(), limits);
  if (!program.ok()) return program.status().error();
  for (size_t m = 0; m < program->method_count(); ++m) {
    const Method method = program->method(m);
    SessionOptions options;
    options.backend = reference_backend();
    options.memory_limit = 1 << 20;
    Result<Session> session = Session::create(method, options);
    if (!session.ok()) continue;
    for (size_t v = 0; v < method.variant_count(); ++v) {
      set_zeros(method, v, &*session);
      if (!session->run().ok()) continue;
      for (size_t i = 0; i < method.output_count(); ++i) EXPECT_TRUE(session->output(i).ok());
    }
    for (size_t k = 0; k < method.state_count(); ++k) EXPECT_TRUE(session->state(k).ok());
    EXPECT_TRUE(session->reset_state().ok());
  }
  return Error::kOk;
}

struct PrologBreak {
  const char* field;
  const char* message;
  std::function<void(BundleProlog&)> apply;
};

TEST(Prolog, EachBrokenFieldIsRefusedByName) {
  const PrologBreak breaks[] = {
      {"magic", "not a LazyRT bundle", [](auto& p) { p.magic[3] = 'x'; }},
      {"major", "version 0 does not exist", [](auto& p) { p.major = 0; }},
      {"file_bytes", "the file should have", [](auto& p) { p.file_bytes += 1; }},
      {"metadata_offset", "metadata section is not aligned",
       [](auto& p) { p.metadata_offset += 8; }},
      {"metadata_offset", "metadata section is not next", [](auto& p) { p.metadata_offset = 64; }},
      {"metadata_offset", "metadata section is not next",
       [](auto& p) { p.metadata_offset = 1ull << 63; }},
      {"metadata_bytes", "metadata section ends outside",
       [](auto& p) { p.metadata_bytes = UINT64_MAX; }},
      {"metadata_bytes", "constants section is not next", [](auto& p) { p.metadata_bytes += 64; }},
      {"metadata_bytes", "constants section is not next", [](auto& p) { p.metadata_bytes -= 64; }},
      {"metadata_bytes", "constants section is not next", [](auto& p) { p.metadata_bytes = 0; }},
      {"constants_offset", "constants section is not aligned",
       [](auto& p) { p.constants_offset += 16; }},
      {"constants_offset", "constants section is not next",
       [](auto& p) { p.constants_offset = 0; }},
      {"constants_bytes", "lacks its tail", [](auto& p) { p.constants_bytes = 15; }},
      {"constants_bytes", "constants section ends outside",
       [](auto& p) { p.constants_bytes = UINT64_MAX; }},
      {"samples_offset", "samples section is not aligned", [](auto& p) { p.samples_offset += 64; }},
      {"samples_offset", "samples section is not next", [](auto& p) { p.samples_offset += 4096; }},
      {"samples_offset", "samples section is not next", [](auto& p) { p.samples_offset = 0; }},
      {"samples_bytes", "samples section ends outside", [](auto& p) { p.samples_bytes += 1; }},
      {"samples_bytes", "bytes after the last section", [](auto& p) { p.samples_bytes -= 1; }},
      {"samples", "bytes after the last section",
       [](auto& p) { p.samples_offset = p.samples_bytes = 0; }},
      {"reserved", "reserved word", [](auto& p) { p.reserved[3] = 1; }},
  };
  for (const PrologBreak& b : breaks) {
    SCOPED_TRACE(b.field);
    AlignedBytes file = tiny_file();
    b.apply(file.prolog());
    test::reseal(&file);
    const Status status = load(file);
    EXPECT_EQ(status.error(), Error::kInvalidBundle);
    EXPECT_THAT(status.message(), HasSubstr(b.message));
  }
}

TEST(Prolog, ChecksumsAreChecked) {
  for (const char* which : {"prolog", "metadata"}) {
    AlignedBytes file = tiny_file();
    BundleProlog& p = file.prolog();
    if (*which == 'p') p.prolog_checksum ^= 1;
    if (*which == 'm') {
      p.metadata_checksum ^= 1;
      p.prolog_checksum = prolog_checksum(p);
    }
    EXPECT_THAT(load(file).message(), HasSubstr(std::string(which) + ": its checksum"));
  }
}

TEST(Prolog, DataIsCheckedOnRequest) {
  AlignedBytes file = tiny_file();
  LoadOptions check;
  check.check_data = true;
  EXPECT_TRUE(load(file, check).ok());
  file[file.prolog().constants_offset] ^= 1;
  EXPECT_TRUE(load(file).ok());
  EXPECT_THAT(load(file, check).message(), HasSubstr("constants and samples"));
}

TEST(Prolog, NewerMajorIsRefusedAndNewerMinorIsRead) {
  AlignedBytes file = tiny_file();
  file.prolog().major = 2;
  file.prolog().minor = 5;
  const Status status = load(file);  // not resealed: a newer major may even have another checksum
  EXPECT_EQ(status.error(), Error::kVersion);
  EXPECT_THAT(status.message(), HasSubstr("version 2.5, this runtime reads 1.x"));
  AlignedBytes minor = tiny_file();
  minor.prolog().minor = 77;
  minor.prolog().reserved[0] = 1;
  test::reseal(&minor);
  EXPECT_TRUE(load(minor).ok()) << load(minor).message();
}

TEST(Prolog, WithoutSamplesBothAreZero) {
  test::BundleParts parts = test::tiny_bundle();
  parts.bundle.methods[0]->samples.clear();
  parts.samples.clear();
  const AlignedBytes file = test::write_bundle(parts);
  EXPECT_TRUE(load(file).ok()) << load(file).message();
}

TEST(Prolog, MisalignedBytesAreTheCallersMistake) {
  const AlignedBytes file = tiny_file();
  AlignedBytes shifted(file.size() + 8);
  std::memcpy(shifted.data() + 8, file.data(), file.size());
  const Span<const uint8_t> span(shifted.data() + 8, file.size());
  EXPECT_EQ(Program::load(span, test::tiny_ops()).status().error(), Error::kInvalidArgument);
}

TEST(Damage, EveryTruncationIsRefused) {
  const AlignedBytes file = tiny_file();
  for (size_t size = 0; size < file.size(); size += size < 1024 ? 1 : 64) {
    EXPECT_EQ(load(AlignedBytes(file.data(), size)).error(), Error::kInvalidBundle) << size;
  }
}

TEST(Damage, ResealedTruncationsAreRefusedToo) {
  const AlignedBytes file = tiny_file();
  for (size_t size = sizeof(BundleProlog); size < file.size(); size += 64) {
    AlignedBytes cut(file.data(), size);
    cut.prolog().file_bytes = size;
    test::reseal(&cut);
    EXPECT_EQ(load(cut).error(), Error::kInvalidBundle) << size;
  }
}

TEST(Damage, EveryFlippedBitIsSeenByTheChecksums) {
  AlignedBytes file = tiny_file();
  const BundleProlog p = file.prolog();
  for (size_t bit = 0; bit < (p.metadata_offset + p.metadata_bytes) * 8; ++bit) {
    file[bit / 8] ^= static_cast<uint8_t>(1u << (bit % 8));
    EXPECT_FALSE(load(file).ok()) << "bit " << bit;
    file[bit / 8] ^= static_cast<uint8_t>(1u << (bit % 8));
  }
}

/// One bundle of the plain parts, one with guards, states and variants.
struct DamagedParam {
  const char* name;
  test::BundleParts (*parts)();
};

class DamagedBundle : public testing::TestWithParam<DamagedParam> {
 protected:
  const test::BundleParts parts_ = GetParam().parts();
  const AlignedBytes file_ = test::write_bundle(parts_);
  const BundleProlog prolog_ = file_.copy().prolog();
};

TEST_P(DamagedBundle, TruncatedMetadataIsRefused) {
  for (size_t size = 0; size < prolog_.metadata_bytes; size += 4) {
    const AlignedBytes cut =
        test::write_bundle({file_.data() + prolog_.metadata_offset, size}, parts_);
    EXPECT_NE(use(cut), Error::kOk) << size;
  }
}

TEST_P(DamagedBundle, FlippedBitsUnderRightChecksumsNeverCrash) {
  int refused = 0;
  for (size_t bit = 0; bit < prolog_.metadata_bytes * 8; ++bit) {
    AlignedBytes damaged = file_.copy();
    damaged[prolog_.metadata_offset + bit / 8] ^= static_cast<uint8_t>(1u << (bit % 8));
    test::reseal(&damaged);
    refused += use(damaged) == Error::kOk ? 0 : 1;
  }
  EXPECT_GT(refused, static_cast<int>(prolog_.metadata_bytes * 8) / 2);
}

TEST_P(DamagedBundle, RandomBytesUnderRightChecksumsNeverCrash) {
  const uint32_t seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (int i = 0; i < 20000; ++i) {
    AlignedBytes damaged = file_.copy();
    for (uint32_t n = 1 + random() % 4; n > 0; --n) {
      damaged[prolog_.metadata_offset + random() % prolog_.metadata_bytes] =
          static_cast<uint8_t>(random());
    }
    test::reseal(&damaged);
    use(damaged);
  }
}

INSTANTIATE_TEST_SUITE_P(Files, DamagedBundle,
                         testing::Values(DamagedParam{"tiny", test::tiny_bundle},
                                         DamagedParam{"branching", test::branching_bundle},
                                         DamagedParam{"ranges", test::guarded_ranges_bundle}),
                         [](const auto& param) { return std::string(param.param.name); });

/// Many tables that share one long vector cost little in the file but much to walk.
TEST(Hostile, SharedVectorsAreRefused) {
  flatbuffers::FlatBufferBuilder b;
  const auto ids = b.CreateVector(std::vector<int32_t>(20000, 0));
  const auto op = fb::CreateUnary(b);
  const auto node = fb::CreateNode(b, fb::OpAttrs::Unary, op.Union(), ids, ids);
  const auto nodes = b.CreateVector(std::vector<flatbuffers::Offset<fb::Node>>(20000, node));
  const auto method = fb::CreateMethod(b, b.CreateString("forward"), 0, 0, nodes);
  const auto methods = b.CreateVector(std::vector<flatbuffers::Offset<fb::Method>>{method});
  fb::FinishBundleBuffer(b, fb::CreateBundle(b, 0, methods));
  const AlignedBytes file = test::write_bundle({b.GetBufferPointer(), b.GetSize()}, {});
  const Status status = load(file);
  EXPECT_EQ(status.error(), Error::kInvalidBundle);
  EXPECT_THAT(status.message(), HasSubstr("shared"));
}

/// A shape [2, 2, …] whose length is its first element's lower half: elements at an odd word.
TEST(Hostile, MisalignedVectorsAreRefused) {
  flatbuffers::FlatBufferBuilder b;
  const auto shape = b.CreateVector(std::vector<int64_t>{2, 2, 2, 2});
  fb::ValueBuilder v(b);
  v.add_dtype(fb::DType::Float32);
  v.add_shape(shape);
  const auto values = b.CreateVector(std::vector<flatbuffers::Offset<fb::Value>>{v.Finish()});
  const auto name = b.CreateString("forward");
  fb::MethodBuilder m(b);
  m.add_name(name);
  m.add_values(values);
  const auto methods = b.CreateVector(std::vector<flatbuffers::Offset<fb::Method>>{m.Finish()});
  fb::FinishBundleBuffer(b, fb::CreateBundle(b, 0, methods));
  auto* value = const_cast<fb::Value*>(
      fb::GetBundle(b.GetBufferPointer())->methods()->Get(0)->values()->Get(0));
  uint8_t* field = const_cast<uint8_t*>(
      reinterpret_cast<flatbuffers::Table*>(value)->GetAddressOf(fb::Value::VT_SHAPE));
  flatbuffers::WriteScalar(field, flatbuffers::ReadScalar<flatbuffers::uoffset_t>(field) + 4);
  const AlignedBytes file = test::write_bundle({b.GetBufferPointer(), b.GetSize()}, {});
  EXPECT_THAT(load(file).message(), HasSubstr("its shape is not aligned"));
}

/// A report of all sources would be larger than the file by far.
TEST(Hostile, SharedStringsAreRefused) {
  flatbuffers::FlatBufferBuilder b;
  const auto text = b.CreateString(std::string(1000, 's'));
  const auto source = fb::CreateSource(b, 0, 0, text);
  const auto sources = b.CreateVector(std::vector<flatbuffers::Offset<fb::Source>>(100, source));
  const auto name = b.CreateString("forward");
  fb::MethodBuilder m(b);
  m.add_name(name);
  m.add_sources(sources);
  const auto methods = b.CreateVector(std::vector<flatbuffers::Offset<fb::Method>>{m.Finish()});
  fb::FinishBundleBuffer(b, fb::CreateBundle(b, 0, methods));
  const AlignedBytes file = test::write_bundle({b.GetBufferPointer(), b.GetSize()}, {});
  EXPECT_THAT(load(file).message(), HasSubstr("shared"));
}

/// What walks the texts of many nodes that name one source does so in a bounded time for each.
TEST(Hostile, TextsAreLimited) {
  const auto message = [](const auto& set) {
    test::BundleParts parts = test::tiny_bundle();
    set(&parts.bundle);
    return std::string(load(test::write_bundle(parts)).message());
  };
  const auto source = [](fb::BundleT* bundle) -> fb::SourceT& {
    bundle->methods[0]->sources.push_back(std::make_unique<fb::SourceT>());
    return *bundle->methods[0]->sources.back();
  };
  const std::string name(kBundleMaxNameBytes, 'n'), text(kBundleMaxTextBytes, 't');
  const auto guard = [](fb::BundleT* bundle) -> fb::GuardT& {
    auto made = std::make_unique<fb::GuardT>();
    made->kind = fb::GuardKind::Truth;
    bundle->methods[0]->guards.push_back(std::move(made));
    return *bundle->methods[0]->guards.back();
  };
  EXPECT_EQ(message([&](auto* b) { source(b).file = name; }), "");
  EXPECT_THAT(message([&](auto* b) { source(b).file = name + "n"; }),
              HasSubstr("a name of 4097 bytes, at most 4096"));
  EXPECT_THAT(message([&](auto* b) { source(b).module_path = name + "n"; }),
              HasSubstr("a name of 4097 bytes"));
  EXPECT_THAT(message([&](auto* b) { b->methods[0]->values[0]->name = name + "n"; }),
              HasSubstr("a name of 4097 bytes"));
  EXPECT_THAT(message([&](auto* b) { guard(b).text = text + "t"; }),
              HasSubstr("a text of 65537 bytes, at most 65536"));
  EXPECT_THAT(message([&](auto* b) { guard(b).text = text; }),
              testing::Not(HasSubstr("a text of")));
  EXPECT_EQ(message([&](auto* b) {
              b->info.push_back(std::make_unique<fb::KeyValueT>());
              b->info.back()->value = text + text;
            }),
            "");
}

TEST(Hostile, SharedInfoIsRefused) {
  flatbuffers::FlatBufferBuilder b;
  const auto text = b.CreateString(std::string(1000, 'i'));
  const auto entry = fb::CreateKeyValue(b, text, text);
  const auto info = b.CreateVector(std::vector<flatbuffers::Offset<fb::KeyValue>>(100, entry));
  const auto name = b.CreateString("forward");
  fb::MethodBuilder m(b);
  m.add_name(name);
  const auto methods = b.CreateVector(std::vector<flatbuffers::Offset<fb::Method>>{m.Finish()});
  fb::FinishBundleBuffer(b, fb::CreateBundle(b, 0, methods, info));
  const AlignedBytes file = test::write_bundle({b.GetBufferPointer(), b.GetSize()}, {});
  EXPECT_THAT(load(file).message(), HasSubstr("shared"));
}

TEST(Hostile, MoreTablesThanAllowedAreRefused) {
  flatbuffers::FlatBufferBuilder b;
  const auto source = fb::CreateSource(b);
  const auto sources =
      b.CreateVector(std::vector<flatbuffers::Offset<fb::Source>>(kBundleMaxTables + 1, source));
  fb::MethodBuilder m(b);
  m.add_sources(sources);
  const auto method = m.Finish();
  const auto methods = b.CreateVector(std::vector<flatbuffers::Offset<fb::Method>>{method});
  fb::FinishBundleBuffer(b, fb::CreateBundle(b, 0, methods));
  const AlignedBytes file = test::write_bundle({b.GetBufferPointer(), b.GetSize()}, {});
  EXPECT_THAT(load(file).message(),
              HasSubstr("FlatBuffer is damaged, nested too deeply or too big"));
}

TEST(Hostile, DeepNestingIsRefused) {
  flatbuffers::FlatBufferBuilder b;
  flatbuffers::Offset<fb::Method> method;
  for (int depth = 0; depth < 100; ++depth) {
    std::vector<flatbuffers::Offset<fb::Method>> inner;
    if (depth > 0) inner.push_back(method);
    const auto variants = b.CreateVector(inner);
    fb::MethodBuilder m(b);
    m.add_variants(variants);
    method = m.Finish();
  }
  const auto methods = b.CreateVector(std::vector<flatbuffers::Offset<fb::Method>>{method});
  fb::FinishBundleBuffer(b, fb::CreateBundle(b, 0, methods));
  const AlignedBytes file = test::write_bundle({b.GetBufferPointer(), b.GetSize()}, {});
  EXPECT_THAT(load(file).message(), HasSubstr("nested too deeply"));
}

TEST(Hostile, AnUnknownUnionMemberIsRefused) {
  AlignedBytes file = tiny_file();
  uint8_t* root = file.data() + file.prolog().metadata_offset;
  auto* bundle = flatbuffers::GetMutableRoot<fb::Bundle>(root);
  const fb::Node* node = bundle->methods()->Get(0)->nodes()->Get(2);
  const auto* table = reinterpret_cast<const flatbuffers::Table*>(node);
  auto* type = const_cast<uint8_t*>(table->GetAddressOf(fb::Node::VT_OP_TYPE));
  *type = 200;
  test::reseal(&file);
  const Status status = load(file);
  EXPECT_EQ(status.error(), Error::kUnsupported);
  EXPECT_THAT(status.message(),
              HasSubstr("node 2 (unknown op from model.py:33): operator number 200"));
}

TEST(Open, ReadsAFileAndNamesWhatIsWrong) {
  const std::string path = test::write_temp_file(tiny_file(), "tiny.lzb");
  const Result<Program> program = Program::open(path.c_str(), test::tiny_ops());
  ASSERT_TRUE(program.ok()) << program.status().message();
  EXPECT_EQ(program->bytes(), tiny_file().size());
  BundleProlog prolog;
  std::memcpy(&prolog, tiny_file().data(), sizeof(prolog));
  EXPECT_EQ(program->checksum(), prolog.prolog_checksum);
  EXPECT_EQ(Program::open("/no/such.lzb", test::tiny_ops()).status().error(), Error::kNotFound);
  const std::string empty = test::write_temp_file(AlignedBytes(size_t{0}), "empty.lzb");
  EXPECT_THAT(Program::open(empty.c_str(), test::tiny_ops()).status().message(),
              HasSubstr("is empty"));
}

TEST(Checksum, DoesNotDependOnTheCuts) {
  std::vector<uint8_t> bytes(1000);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * 7);
  const uint64_t whole = Checksum64::of(bytes.data(), bytes.size());
  for (size_t cut = 0; cut <= 200; ++cut) {
    Checksum64 c;
    c.update(bytes.data(), cut);
    c.update(bytes.data() + cut, bytes.size() - cut);
    EXPECT_EQ(c.value(), whole) << cut;
  }
  EXPECT_NE(Checksum64::of("", 0), Checksum64::of("\0", 1));
}

}  // namespace
}  // namespace lazyrt
