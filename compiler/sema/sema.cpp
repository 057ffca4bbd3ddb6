#include "compiler/sema/sema.h"

#include "compiler/sema/check.h"

namespace sarek::sema {

TypedModule::TypedModule() = default;
TypedModule::TypedModule(TypedModule&&) noexcept = default;
TypedModule& TypedModule::operator=(TypedModule&&) noexcept = default;
TypedModule::~TypedModule() = default;
TypedModule::TypedModule(std::unique_ptr<Module> impl) : impl_(std::move(impl)) {}

const std::vector<KernelInfo>& TypedModule::kernels() const { return impl_->kernel_infos; }
const ModuleInterface& TypedModule::interface() const { return impl_->interface; }
const std::vector<TestInfo>& TypedModule::tests() const { return impl_->tests; }
const std::vector<FileId>& TypedModule::imported_files() const { return impl_->imported; }

TypedModule check(syntax::Ast root, SourceManager& sources, DiagnosticSink& sink, const CheckOptions& options) {
  auto module = std::make_unique<Module>();
  Checker(*module, sources, sink, options).run(std::move(root));
  return TypedModule(std::move(module));
}

}  // namespace sarek::sema
