#include "compiler/ir/ops.h"

#include <iterator>

#include "compiler/ir/args.h"

namespace sarek::ir {
namespace {

constexpr OpInfo kOps[] = {
#define SAREK_OP(name, text, min, max, rule, traits, meaning) {text, min, max, TypeRule::rule, traits, meaning},
#include "compiler/ir/ops.def"
};
static_assert(std::size(kOps) == 75, "the operations and their order are fixed by the specification; add instructions to ins.def");

constexpr InsInfo kInstructions[] = {
#define SAREK_INS(name, text, sources, kind, meaning) {text, sources, InsKind::kind, meaning},
#include "compiler/ir/ins.def"
};

constexpr std::string_view kAxisTypes[] = {"Device", "Global", "Warp",   "Local",       "Weak",
                                           "Reduce", "Upcast", "Unroll", "Placeholder", "Loop"};

}  // namespace

const OpInfo& op_info(Op op) { return kOps[static_cast<std::size_t>(op)]; }
const InsInfo& ins_info(Ins ins) { return kInstructions[static_cast<std::size_t>(ins)]; }

std::optional<Op> op_by_name(std::string_view name) {
  for (std::size_t i = 0; i < std::size(kOps); ++i)
    if (kOps[i].name == name) return static_cast<Op>(i);
  return std::nullopt;
}

std::optional<Ins> ins_by_name(std::string_view name) {
  for (std::size_t i = 0; i < std::size(kInstructions); ++i)
    if (kInstructions[i].name == name) return static_cast<Ins>(i);
  return std::nullopt;
}

std::string_view axis_type_name(AxisType type) { return kAxisTypes[static_cast<std::size_t>(type)]; }

std::optional<AxisType> axis_type_by_name(std::string_view name) {
  for (std::size_t i = 0; i < std::size(kAxisTypes); ++i)
    if (kAxisTypes[i] == name) return static_cast<AxisType>(i);
  return std::nullopt;
}

}  // namespace sarek::ir
