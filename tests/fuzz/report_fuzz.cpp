// lazy-run's reports of bundles with texts and fields that no exporter writes.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string_view>

#include "lazyrt/runtime.h"
#include "tests/fuzz/bundle_edit.h"
#include "tests/fuzz/report_walk.h"

namespace {

using namespace lazyrt;

int inputs = 0, reported = 0;

void print_reached() { std::fprintf(stderr, "of %d inputs %d had a report\n", inputs, reported); }

const std::string kTexts[] = {"",         "\x1b[31m", "\x1b]0;x\x07",        "a\nb", "\x7f",
                              "\xc2\x9b", "\xff\xfe", "\xe2\x80\xae",        "%s%n", "\"}],",
                              "../../x",  "\\u0000",  std::string("a\0b", 3)};

/// Some text of a method, or nullptr.
std::string* text_of(fb::MethodT& m, std::minstd_rand* random) {
  const auto any = [&](auto& list) -> decltype(&*list[0]) {
    return list.empty() ? nullptr : &*list[(*random)() % list.size()];
  };
  const auto name = [](auto* named) { return named == nullptr ? nullptr : &named->name; };
  switch ((*random)() % 10) {
    case 0:
      return &m.name;
    case 1:
      return name(any(m.values));
    case 2:
      return name(any(m.inputs));
    case 3:
      return name(any(m.outputs));
    case 4:
      return name(any(m.states));
    case 5:
      return name(any(m.symbols));
    case 6:
      return name(any(m.literals));
    case 7: {
      auto* guard = any(m.guards);
      return guard == nullptr ? nullptr : &guard->text;
    }
    default: {
      auto* source = any(m.sources);
      if (source == nullptr) return nullptr;
      const auto which = (*random)() % 3;
      return which == 0 ? &source->aten : which == 1 ? &source->module_path : &source->file;
    }
  }
}

void edit_text(fb::BundleT* bundle, std::minstd_rand* random) {
  if (bundle->methods.empty()) return;
  fb::MethodT* m = bundle->methods[(*random)() % bundle->methods.size()].get();
  if (!m->variants.empty() && (*random)() % 2 == 0)
    m = m->variants[(*random)() % m->variants.size()].get();
  std::string* text = text_of(*m, random);
  if (text == nullptr) return;
  if ((*random)() % 16 == 0) {
    text->resize(text->size() + (*random)() % 9000, 'x');
  } else {
    text->insert((*random)() % (text->size() + 1), kTexts[(*random)() % std::size(kTexts)]);
  }
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) { return std::atexit(print_reached); }

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned int seed) {
  test::BundleParts parts;
  if (!fuzz::read_parts(test::AlignedBytes(data, size).span(), &parts)) return 0;
  std::minstd_rand random(seed);
  for (unsigned n = 1 + random() % 3; n > 0; --n) edit_text(&parts.bundle, &random);
  const test::AlignedBytes file =
      random() % 2 == 0 ? fuzz::mutate(default_ops(), seed, &parts) : test::write_bundle(parts);
  if (file.size() > max_size) return size;
  std::memcpy(data, file.data(), file.size());
  return file.size();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const test::AlignedBytes file(data, size);
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto choice = static_cast<uint32_t>(std::hash<std::string_view>()(bytes));
  ++inputs;
  const std::string fault = fuzz::report_fault(file.span(), choice, &reported);
  if (fault.empty()) return 0;
  std::fprintf(stderr, "lazy-run's report: %s\n", fault.c_str());
  std::abort();
}
