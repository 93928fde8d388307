#include "host_tracer/emit/texts.h"

#include "host_tracer/emit/metadata.h"
#include "host_tracer/support/text_limit.h"
#include "schema/bundle_file.h"

namespace lazyrt {
namespace {

void limit_name(std::string* name) { *name = shortened(*name, kBundleMaxNameBytes); }
void limit_text(std::string* text) { *text = shortened(*text, kBundleMaxTextBytes); }

template <class Tables>
void limit_names(const Tables& tables) {
  for (const auto& table : tables) limit_name(&table->name);
}

void limit_texts(fb::MethodT* method) {
  limit_name(&method->name);
  limit_names(method->symbols);
  limit_names(method->values);
  limit_names(method->inputs);
  limit_names(method->outputs);
  limit_names(method->literals);
  limit_names(method->states);
  for (const auto& node : method->nodes) {
    if (auto* custom = node->op.AsCustomOp(); custom != nullptr) limit_name(&custom->name);
  }
  for (const auto& source : method->sources) {
    limit_name(&source->aten);
    limit_name(&source->module_path);
    source->file = shortened_to_end(source->file, kBundleMaxNameBytes);
  }
  for (const auto& guard : method->guards) limit_text(&guard->text);
  for (const auto& variant : method->variants) limit_texts(variant.get());
}

}  // namespace

std::string interface_name(const std::string& wanted, const std::string& fallback) {
  constexpr size_t kMostBytes = 976;
  return wanted.empty() ? fallback : shortened(wanted, kMostBytes);
}

std::string Names::unique(const std::string& wanted, const std::string& fallback) {
  const std::string base = interface_name(wanted, fallback);
  std::string name = base;
  for (int i = 1; !taken_.insert(name).second; ++i) name = base + "_" + std::to_string(i);
  return name;
}

Source portable_source(const Source& source) {
  Source made = source;
  made.file = shortened_to_end(portable_path(source.file), kBundleMaxNameBytes);
  limit_name(&made.module_path);
  limit_name(&made.aten);
  return made;
}

void limit_texts(fb::BundleT* bundle) {
  limit_name(&bundle->producer);
  for (const auto& method : bundle->methods) limit_texts(method.get());
}

}  // namespace lazyrt
