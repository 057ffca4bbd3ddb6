// From arguments to slots, with every check that a launch needs. All drivers' launches are bound by these rules.
#include <algorithm>
#include <limits>

#include "compiler/interp/interpreter.h"
#include "compiler/ir/evaluate.h"

namespace sarek::interp {
namespace {

constexpr std::int64_t kMaxBytes = std::int64_t{1} << 46;
constexpr std::int64_t kMaxShared = std::int64_t{1} << 30;

ErrorHolder<RuntimeError> refuse(const ir::Program& program, std::string what) {
  RuntimeError e;
  e.kind = ErrorKind::Launch_error;
  e.message = "kernel '" + program.name + "': " + std::move(what);
  e.range = program.range;
  return Err(std::move(e));
}

/// The value's bits as slots hold them: nothing above the type's width, Bool 0 or 1.
std::uint64_t clean(ir::Type type, std::uint64_t bits) {
  if (type == ir::Type::Bool) return bits != 0;
  const int width = ir::type_bits(type);
  return width >= 64 ? bits : bits & ((std::uint64_t{1} << width) - 1);
}

}  // namespace

Result<std::vector<std::uint64_t>, RuntimeError> bind_arguments(const ir::Program& program, const Launch& launch) {
  const std::size_t params = program.params.size();
  if (launch.arguments.size() != params)
    return refuse(program, "takes " + std::to_string(params) + " arguments, not " + std::to_string(launch.arguments.size()));
  std::int64_t blocks = 1;
  for (const std::int64_t g : launch.grid) {
    if (g < 1 || g > std::numeric_limits<std::int32_t>::max())
      return refuse(program, "a grid of " + std::to_string(g) + " blocks along an axis");
    if (__builtin_mul_overflow(blocks, g, &blocks)) return refuse(program, "a grid of more than 2^63 blocks");
  }
  std::vector<std::uint64_t> slots(program.slots.size());
  const auto in_range = [&](int slot) { return slot >= 0 && static_cast<std::size_t>(slot) < slots.size(); };
  const std::int64_t longest = program.wide ? kMaxBytes : std::numeric_limits<std::int32_t>::max();

  for (std::size_t i = 0; i < params; ++i) {
    const ir::KernelParam& p = program.params[i];
    const Argument& a = launch.arguments[i];
    const std::string name = "argument '" + p.name + "'";
    if (!in_range(p.first_slot) || p.slot_count < 0 || !in_range(p.first_slot + std::max(p.slot_count, 1) - 1))
      return refuse(program, name + " has no slot");
    const auto first = static_cast<std::size_t>(p.first_slot);
    if (a.is_buffer != p.is_buffer)
      return refuse(program, name + (p.is_buffer ? " is a buffer, not a scalar" : " is a scalar, not a buffer"));
    if (!p.is_buffer) {
      if (a.scalars.size() != static_cast<std::size_t>(p.slot_count))
        return refuse(program, name + " has " + std::to_string(p.slot_count) + " values, not " + std::to_string(a.scalars.size()));
      for (std::size_t s = 0; s < a.scalars.size(); ++s) {
        const ir::Type want = program.slots[first + s].type;
        if (a.scalars[s].type != want)
          return refuse(program,
                        name + " is " + std::string(ir::type_name(want)) + ", not " + std::string(ir::type_name(a.scalars[s].type)));
        slots[first + s] = clean(want, a.scalars[s].bits);
      }
      continue;
    }
    if (a.count < 0 || a.bytes < 0 || a.bytes > kMaxBytes) return refuse(program, name + " has a negative or absurd length");
    if (a.count > longest)
      return refuse(program, name + " has " + std::to_string(a.count) + " elements, more than the kernel's lengths can say");
    if (p.element.size > 0 && a.count > a.bytes / p.element.size)
      return refuse(program, name + " holds " + std::to_string(a.bytes) + " bytes, too few for " + std::to_string(a.count) +
                                 " elements of " + std::to_string(p.element.size));
    const auto address = reinterpret_cast<std::uintptr_t>(a.data);
    if (!a.data && a.bytes > 0) return refuse(program, name + " has no memory");
    if (p.element.align > 1 && address % static_cast<std::uintptr_t>(p.element.align) != 0)
      return refuse(program, name + " is not aligned to " + std::to_string(p.element.align) + " bytes");
    slots[first] = address;
  }

  const auto written = [](const ir::KernelParam& p) { return p.access == ir::Access::Out || p.access == ir::Access::InOut; };
  for (std::size_t i = 0; i < params; ++i) {
    for (std::size_t j = i + 1; j < params; ++j) {
      const ir::KernelParam& p = program.params[i];
      const ir::KernelParam& q = program.params[j];
      if (!p.is_buffer || !q.is_buffer || (!written(p) && !written(q))) continue;
      // One buffer given twice is plain: both parameters name the same cells.
      if (launch.arguments[i].data == launch.arguments[j].data && launch.arguments[i].bytes == launch.arguments[j].bytes) continue;
      const auto a = reinterpret_cast<std::uintptr_t>(launch.arguments[i].data);
      const auto b = reinterpret_cast<std::uintptr_t>(launch.arguments[j].data);
      const auto a_end = a + static_cast<std::uintptr_t>(launch.arguments[i].bytes);
      const auto b_end = b + static_cast<std::uintptr_t>(launch.arguments[j].bytes);
      if (a < b_end && b < a_end && a != a_end && b != b_end)
        return refuse(program, "arguments '" + p.name + "' and '" + q.name + "' overlap in part, and the kernel writes one of them");
    }
  }

  std::size_t dynamic = 0;
  std::int64_t shared = ir::static_shared_bytes(program);
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const ir::Slot& s = program.slots[i];
    switch (s.kind) {
      case ir::Slot::Kind::Buffer:
      case ir::Slot::Kind::Scalar: break;
      case ir::Slot::Kind::Length: {
        const int param = in_range(s.of_slot) ? program.slots[static_cast<std::size_t>(s.of_slot)].param : -1;
        if (param < 0 || static_cast<std::size_t>(param) >= params) return refuse(program, "the length '" + s.name + "' is of no buffer");
        slots[i] = static_cast<std::uint64_t>(launch.arguments[static_cast<std::size_t>(param)].count);
        break;
      }
      case ir::Slot::Kind::NumGroups:
        slots[i] = static_cast<std::uint64_t>(launch.grid[static_cast<std::size_t>(std::clamp(s.axis, 0, 2))]);
        break;
      case ir::Slot::Kind::SharedLength: {
        if (dynamic >= launch.dynamic_shared.size()) break;  // counted below
        const std::int64_t length = launch.dynamic_shared[dynamic];
        if (length < 0 || length > kMaxShared) return refuse(program, "the shared length '" + s.name + "' is negative or absurd");
        slots[i] = static_cast<std::uint64_t>(length);
        shared += length * 8;
        break;
      }
    }
    if (s.kind == ir::Slot::Kind::SharedLength) ++dynamic;
  }
  if (dynamic != launch.dynamic_shared.size())
    return refuse(program,
                  "has " + std::to_string(dynamic) + " dynamic shared buffers, not " + std::to_string(launch.dynamic_shared.size()));
  if (shared > kMaxShared) return refuse(program, "asks for more than a gibibyte of shared storage");
  return slots;
}

}  // namespace sarek::interp
