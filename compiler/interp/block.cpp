// Bulk-synchronous execution of a block: rounds of threads, then the release rules of interpreter.h.
#include "compiler/interp/block.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "compiler/ir/evaluate.h"

namespace sarek::interp {
namespace {

using ir::Ins;
using ir::Type;

constexpr int kWarp = 32;

std::string triple(std::int64_t x, std::int64_t y, std::int64_t z) {
  return "(" + std::to_string(x) + ", " + std::to_string(y) + ", " + std::to_string(z) + ")";
}

/// A lane number or distance as a signed number, whatever integer type it has.
std::int64_t distance_of(Type type, std::uint64_t bits) {
  const std::optional<ir::ConstValue> value = ir::value_of(bits, type);
  if (!value) return 0;
  // An unsigned 64-bit distance past the signed range is out of range either way; a lane number is taken modulo 32.
  return static_cast<std::int64_t>(value->integer > INT64_MAX ? INT64_MAX - (kWarp - 1) + (value->integer & (kWarp - 1)) : value->integer);
}

bool is_vote(Ins code) { return code == Ins::VoteAll || code == Ins::VoteAny || code == Ins::Ballot || code == Ins::ActiveMask; }
bool is_shuffle(Ins code) { return code == Ins::Shuffle || code == Ins::ShuffleUp || code == Ins::ShuffleDown || code == Ins::ShuffleXor; }

/// The lane that `lane` reads, -1 when there is none.
int source_lane(Ins code, int lane, std::int64_t d) {
  std::int64_t from = -1;
  if (code == Ins::Shuffle) from = d & (kWarp - 1);
  else if (code == Ins::ShuffleXor) from = lane ^ d;
  else if (d > kWarp || d < -kWarp) return -1;
  else from = code == Ins::ShuffleUp ? lane - d : lane + d;
  return from >= 0 && from < kWarp ? static_cast<int>(from) : -1;
}

std::uint64_t reduce_step(Ins code, Type type, std::uint64_t total, std::uint64_t value) {
  const Type types[2] = {type, type};
  const std::uint64_t operands[2] = {total, value};
  if (code == Ins::ReduceMin) return ir::evaluate(Ins::Min, type, types, operands).value_or(total);
  if (code == Ins::ReduceAnd) return total & value;
  if (code == Ins::ReduceOr) return total | value;
  if (code == Ins::ReduceXor) return total ^ value;
  return ir::evaluate(code == Ins::ReduceMax ? ir::Op::Max : ir::Op::Add, type, types, operands).value_or(total);
}

std::string_view access_name(AccessKind kind) {
  switch (kind) {
    case AccessKind::Read: return "reads";
    case AccessKind::Write: return "writes";
    case AccessKind::Atomic: return "atomically changes";
  }
  return "";
}

}  // namespace

BlockRunner::BlockRunner(const Code& code, std::span<const std::uint64_t> slots, std::span<const std::int64_t> buffer_bytes,
                         std::uint64_t step_limit)
    : code_(code), start_(code.frame), frame_cells_(code.frame.size()) {
  machine_.code = &code;
  machine_.step_limit = step_limit;
  for (const Code::Fill& f : code.slots) {
    const auto slot = static_cast<std::size_t>(f.what);
    start_[f.cell] = slots[slot];
  }
  // Shared storage: the static part, then the dynamic buffers, each at a multiple of 16.
  std::size_t bytes = static_cast<std::size_t>(code.static_shared);
  std::vector<std::size_t> offsets(code.regions.size());
  for (std::size_t i = 0; i < code.regions.size(); ++i) {
    const RegionInfo& r = code.regions[i];
    if (!r.shared || r.slot < 0) continue;
    offsets[i] = bytes;
    bytes += (static_cast<std::size_t>(slots[static_cast<std::size_t>(r.slot)]) * static_cast<std::size_t>(ir::type_bytes(r.type)) + 15) /
             16 * 16;
  }
  shared_bytes_ = bytes;
  shared_.resize((bytes + sizeof(std::max_align_t) - 1) / sizeof(std::max_align_t) + 1);
  auto* shared = reinterpret_cast<std::uint8_t*>(shared_.data());

  // Two parameters may be one buffer: what is remembered of accesses belongs to the memory.
  struct Memory {
    std::int64_t granule = 8;
    Shadow* shadow = nullptr;
  };
  std::map<std::pair<std::uint64_t, std::int64_t>, Memory> memories;
  const auto memory_of = [&](const RegionInfo& r) -> Memory& {
    const auto slot = static_cast<std::size_t>(r.slot);
    return memories[{slots[slot], buffer_bytes[slot]}];
  };
  for (const RegionInfo& r : code.regions)
    if (!r.shared) memory_of(r).granule = std::min<std::int64_t>(memory_of(r).granule, ir::type_bytes(r.type));
  for (std::size_t i = 0; i < code.regions.size(); ++i) {
    const RegionInfo& r = code.regions[i];
    const std::int64_t element = ir::type_bytes(r.type);
    Region region;
    if (r.shared) {
      region.base = shared + (r.slot < 0 ? static_cast<std::size_t>(r.offset) : offsets[i]);
      region.length = r.slot < 0 ? static_cast<std::uint64_t>(r.length) : slots[static_cast<std::size_t>(r.slot)];
    } else {
      region.base = reinterpret_cast<std::uint8_t*>(slots[static_cast<std::size_t>(r.slot)]);
      region.length = static_cast<std::uint64_t>(buffer_bytes[static_cast<std::size_t>(r.slot)] / element);
    }
    machine_.regions.push_back(region);
    if (!code.checks.memory) continue;
    Shadow* shadow = r.shared ? nullptr : memory_of(r).shadow;
    if (!shadow) {
      // A fence may order the accesses of two blocks in ways that are not followed here.
      const bool between_blocks = !r.shared && !code.device_fence;
      const std::int64_t size =
          r.shared ? static_cast<std::int64_t>(region.length) * element : buffer_bytes[static_cast<std::size_t>(r.slot)];
      shadows_.push_back(std::make_unique<Shadow>(size, r.shared ? element : memory_of(r).granule, between_blocks));
      shadow = shadows_.back().get();
      if (!r.shared) memory_of(r).shadow = shadow;
    }
    machine_.shadows.push_back(shadow);
  }
  const auto threads = static_cast<std::size_t>(code.program.block_threads());
  frames_.resize(frame_cells_ * (code.parks ? threads : 1));
  threads_.resize(code.parks ? threads : 1);
  states_.resize(threads_.size());
  warp_steps_.resize((threads + kWarp - 1) / kWarp);
  for (std::size_t t = 0; t < threads_.size(); ++t)
    std::copy(start_.begin(), start_.end(), frames_.begin() + static_cast<std::ptrdiff_t>(t * frame_cells_));
}

std::array<std::int32_t, 3> BlockRunner::thread_id(int thread) const {
  const std::array<int, 3>& b = code_.program.block;
  return {thread % b[0], thread / b[0] % b[1], thread / (b[0] * b[1])};
}
std::string BlockRunner::thread_text(int thread) const {
  const auto id = thread_id(thread);
  return "thread " + triple(id[0], id[1], id[2]);
}

RuntimeError BlockRunner::error(ErrorKind kind, int thread, std::string what) const {
  RuntimeError e;
  e.kind = kind;
  e.block = block_;
  e.thread = thread_id(thread);
  e.message = "kernel '" + code_.program.name + "', block " + triple(block_[0], block_[1], block_[2]) + ", " + thread_text(thread) + ": " +
              std::move(what);
  e.range = place(static_cast<int>(threads_.size() == 1 ? 0 : thread));
  return e;
}

/// What machine_ says of the thread that just stopped with Exit::Fault.
RuntimeError BlockRunner::fault(int thread) const {
  const std::uint32_t pc = threads_[threads_.size() == 1 ? 0 : static_cast<std::size_t>(thread)].pc;
  const Instruction& i = code_.code[pc];
  const auto name = code_.names.find(pc);
  const auto region = [&]() -> const RegionInfo* {
    if (name != code_.names.end()) return nullptr;
    if (i.code == Opcode::Atomic) return &code_.regions[static_cast<std::size_t>(code_.atomics[static_cast<std::size_t>(i.imm)].region)];
    return &code_.regions[static_cast<std::size_t>(i.imm)];
  };
  // An index counts cells of the region's type; a person counts the elements of the buffer.
  const auto in_elements = [&](const RegionInfo* r, std::int64_t index) {
    const std::int64_t bytes = r ? ir::type_bytes(r->type) : 1;
    const std::int64_t element = r && r->element > bytes ? r->element : bytes;
    const std::int64_t per = element / bytes;
    return index >= 0 ? index / per : -((-index + per - 1) / per);
  };
  switch (machine_.fault) {
    case ErrorKind::Array_bounds_error: {
      const RegionInfo* r = region();
      return error(machine_.fault, thread,
                   "index " + std::to_string(in_elements(r, machine_.fault_index)) + " is out of bounds of '" +
                       (r ? r->name : name->second) + "' with length " +
                       std::to_string(in_elements(r, static_cast<std::int64_t>(machine_.fault_length))));
    }
    case ErrorKind::Uninitialised_shared_read:
      return error(machine_.fault, thread,
                   "reads '" + region()->name + "' at index " + std::to_string(machine_.fault_index) + " before any thread wrote it");
    case ErrorKind::Race: {
      const RegionInfo* r = region();
      const AccessKind kind = i.code == Opcode::CheckLoad    ? AccessKind::Read
                              : i.code == Opcode::CheckStore ? AccessKind::Write
                                                             : AccessKind::Atomic;
      const RaceWith& other = machine_.fault_race;
      std::string who = other.thread < 0         ? "a thread of block number " + std::to_string(other.block)
                        : other.thread == thread ? "another thread"
                                                 : thread_text(other.thread);
      return error(machine_.fault, thread,
                   std::string(access_name(kind)) + " '" + r->name + "' at index " + std::to_string(in_elements(r, machine_.fault_index)) +
                       ", which " + who + " " + std::string(access_name(other.kind)) + " with no barrier in between");
    }
    case ErrorKind::Division_by_zero: return error(machine_.fault, thread, "division by zero");
    case ErrorKind::Trap: return error(machine_.fault, thread, name == code_.names.end() || name->second.empty() ? "trap" : name->second);
    case ErrorKind::Step_limit: return error(machine_.fault, thread, "more than " + std::to_string(machine_.step_limit) + " steps");
    case ErrorKind::Unsupported_operation:
    case ErrorKind::Launch_error:
    case ErrorKind::Bsp_deadlock:
    case ErrorKind::Inactive_lane_read: break;
  }
  return error(machine_.fault, thread, "internal error: an unexpected fault");
}

void BlockRunner::start_thread(int thread, std::uint64_t* cells) {
  std::fill(cells + code_.reg_begin, cells + code_.reg_end, 0);
  const auto id = thread_id(thread);
  for (const Code::Fill& f : code_.local_ids) cells[f.cell] = static_cast<std::uint32_t>(id[static_cast<std::size_t>(f.what)]);
  for (const Code::Fill& f : code_.group_ids) cells[f.cell] = static_cast<std::uint32_t>(block_[static_cast<std::size_t>(f.what)]);
}

std::optional<RuntimeError> BlockRunner::run(std::array<std::int64_t, 3> block, std::int64_t linear) {
  block_ = block;
  machine_.block = linear;
  ++machine_.superstep;
  ++machine_.block_run;
  machine_.warp_step = 0;
  std::memset(shared_.data(), 0, shared_bytes_);
  ++stats_.blocks;
  stats_.threads += static_cast<std::uint64_t>(code_.program.block_threads());
  return code_.parks ? run_together() : run_alone();
}

/// No thread waits for another: one frame serves them all.
std::optional<RuntimeError> BlockRunner::run_alone() {
  const int count = code_.program.block_threads();
  for (int t = 0; t < count; ++t) {
    start_thread(t, frames_.data());
    threads_[0] = {};
    machine_.thread = t;
    if (execute(machine_, frames_.data(), threads_[0]) == Exit::Fault) return fault(t);
    stats_.steps += threads_[0].steps;
  }
  return std::nullopt;
}

std::optional<RuntimeError> BlockRunner::run_together() {
  const int count = code_.program.block_threads();
  for (int t = 0; t < count; ++t) {
    start_thread(t, frame(t));
    threads_[static_cast<std::size_t>(t)] = {};
    states_[static_cast<std::size_t>(t)] = State::Ready;
  }
  std::fill(warp_steps_.begin(), warp_steps_.end(), 0u);
  while (true) {
    for (int t = 0; t < count; ++t) {
      State& state = states_[static_cast<std::size_t>(t)];
      if (state != State::Ready) continue;
      machine_.thread = t;
      machine_.warp_step = warp_steps_[static_cast<std::size_t>(t / kWarp)];
      switch (execute(machine_, frame(t), threads_[static_cast<std::size_t>(t)])) {
        case Exit::Finished:
          state = State::Finished;
          stats_.steps += threads_[static_cast<std::size_t>(t)].steps;
          break;
        case Exit::Block: state = State::Block; break;
        case Exit::Warp: state = State::Warp; break;
        case Exit::Fault: return fault(t);
      }
    }
    bool released = false;
    if (std::optional<RuntimeError> e = release_warps(released)) return e;
    if (released) continue;
    if (std::all_of(states_.begin(), states_.end(), [](State s) { return s == State::Finished; })) return std::nullopt;
    if (std::optional<RuntimeError> e = release_block()) return e;
  }
}

/// Lets every warp go on whose live lanes all wait at a warp instruction.
std::optional<RuntimeError> BlockRunner::release_warps(bool& released) {
  const int count = code_.program.block_threads();
  for (int first = 0; first < count; first += kWarp) {
    const int last = std::min(first + kWarp, count);
    bool any = false;
    bool all = true;
    for (int t = first; t < last; ++t) {
      const State s = states_[static_cast<std::size_t>(t)];
      any = any || s == State::Warp;
      all = all && (s == State::Warp || s == State::Finished);
    }
    if (!any || !all) continue;
    if (std::optional<RuntimeError> e = exchange(first, last)) return e;
    ++warp_steps_[static_cast<std::size_t>(first / kWarp)];
    released = true;
  }
  return std::nullopt;
}

/// The live lanes of [first, last) meet: publishes their values and gives each its result.
std::optional<RuntimeError> BlockRunner::exchange(int first, int last) {
  const auto live = [&](int t) { return t < last && states_[static_cast<std::size_t>(t)] == State::Warp; };
  int leader = first;
  while (!live(leader)) ++leader;
  const std::uint32_t pc = threads_[static_cast<std::size_t>(leader)].pc;
  const Instruction& i = code_.code[pc];
  const WarpInfo& info = code_.warps[static_cast<std::size_t>(i.imm)];
  std::uint64_t values[kWarp] = {};
  std::uint64_t mask = 0;
  for (int t = leader; t < last; ++t) {
    if (!live(t)) continue;
    if (threads_[static_cast<std::size_t>(t)].pc != pc) {
      RuntimeError e = error(ErrorKind::Bsp_deadlock, leader, "waits at another warp instruction than " + thread_text(t) + " of its warp");
      e.related = place(t);
      return e;
    }
    values[t - first] = frame(t)[i.a];
    mask |= std::uint64_t{1} << (t - first);
  }
  std::uint64_t common = 0;  // votes and reductions: one result for all
  if (is_vote(info.code)) {
    std::uint64_t ballot = 0;
    for (int l = 0; l < kWarp; ++l)
      if ((mask >> l & 1) && values[l]) ballot |= std::uint64_t{1} << l;
    if (info.code == Ins::VoteAll) common = ballot == mask;
    else if (info.code == Ins::VoteAny) common = ballot != 0;
    else common = info.code == Ins::Ballot ? ballot : mask;
  } else if (!is_shuffle(info.code) && info.code != Ins::WarpBarrier) {
    common = values[leader - first];
    for (int l = leader - first + 1; l < kWarp; ++l)
      if (mask >> l & 1) common = reduce_step(info.code, info.type, common, values[l]);
  }
  for (int t = leader; t < last; ++t) {
    if (!live(t)) continue;
    if (is_shuffle(info.code)) {
      const int lane = t - first;
      const int from = source_lane(info.code, lane, distance_of(info.distance, frame(t)[i.b]));
      const bool is_live = from >= 0 && (mask >> from & 1);
      if (code_.checks.lanes && from >= 0 && !is_live)
        return error(ErrorKind::Inactive_lane_read, t, "shuffles from lane " + std::to_string(from) + ", which is not live");
      frame(t)[i.dst] = values[is_live ? from : lane];
    } else if (info.code != Ins::WarpBarrier) frame(t)[i.dst] = common;
  }
  for (int t = leader; t < last; ++t) {
    if (!live(t)) continue;
    states_[static_cast<std::size_t>(t)] = State::Ready;
    ++threads_[static_cast<std::size_t>(t)].pc;
  }
  return std::nullopt;
}

/// The block barrier releases when every thread of the block waits at it. Whatever else stands still now will do so for ever.
std::optional<RuntimeError> BlockRunner::release_block() {
  const auto first_in = [&](State s) {
    const auto it = std::find(states_.begin(), states_.end(), s);
    return it == states_.end() ? -1 : static_cast<int>(it - states_.begin());
  };
  const int waiting = first_in(State::Block);
  const int finished = first_in(State::Finished);
  const int in_warp = first_in(State::Warp);
  if (in_warp >= 0 && waiting >= 0) {
    // Some warp has lanes at a warp instruction and lanes at the barrier; otherwise it would have gone on.
    RuntimeError e = error(ErrorKind::Bsp_deadlock, waiting,
                           "waits at a barrier, but " + thread_text(in_warp) + " waits at a warp instruction that can never release");
    e.related = place(in_warp);
    return e;
  }
  if (finished >= 0)
    return error(ErrorKind::Bsp_deadlock, waiting, "waits at a barrier, but " + thread_text(finished) + " has ended and can never arrive");
  const std::uint32_t pc = threads_[0].pc;
  for (std::size_t t = 0; t < threads_.size(); ++t) {
    if (threads_[t].pc == pc) continue;
    RuntimeError e = error(ErrorKind::Bsp_deadlock, 0, "waits at another barrier than " + thread_text(static_cast<int>(t)));
    e.related = place(static_cast<int>(t));
    return e;
  }
  for (std::size_t t = 0; t < threads_.size(); ++t) {
    states_[t] = State::Ready;
    ++threads_[t].pc;
  }
  std::fill(warp_steps_.begin(), warp_steps_.end(), 0u);
  ++machine_.superstep;
  ++stats_.supersteps;
  return std::nullopt;
}

}  // namespace sarek::interp
