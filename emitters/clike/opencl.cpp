// OpenCL C 1.2, the baseline every driver has. Contraction is off by pragma: some drivers contract even under -cl-opt-disable.
#include "emitters/clike/dialect.h"

namespace sarek::emit {
namespace {

// The words are those of runtime/artifact/fault_record.h. A thread reports its first fault only.
constexpr std::string_view kFaultHelpers =
    R"(void sarek_fault(volatile __global uint* faults, int* faulted, uint site, long value, long limit) {
  if (*faulted) return;
  *faulted = 1;
  const uint number = atomic_inc(&faults[0]);
  if (number >= faults[1]) return;
  volatile __global uint* record = faults + faults[2] + 8u * number;
  const ulong block = ((ulong)get_group_id(2) * get_num_groups(1) + get_group_id(1)) * get_num_groups(0) + get_group_id(0);
  record[0] = site;
  record[1] = (uint)((get_local_id(2) * get_local_size(1) + get_local_id(1)) * get_local_size(0) + get_local_id(0));
  record[2] = (uint)block;
  record[3] = (uint)(block >> 32);
  record[4] = (uint)value;
  record[5] = (uint)(value >> 32);
  record[6] = (uint)limit;
  record[7] = (uint)(limit >> 32);
}
ulong sarek_bytes(volatile __global uint* faults, uint slot) {
  return faults[3u + 2u * slot] | (ulong)faults[4u + 2u * slot] << 32;
}
)";

constexpr std::size_t at(ir::Type type) { return static_cast<std::size_t>(type); }

Dialect make() {
  Dialect d;
  d.capabilities.framework = "OpenCL";
  d.capabilities.generator = "opencl";
  d.capabilities.warp_operations = false;
  d.capabilities.float_atomics = d.capabilities.double_atomics = true;  // by compare-and-swap
  d.language = "OpenCL C";
  d.preamble = "#pragma OPENCL FP_CONTRACT OFF\n";
  d.kernel_head = "__kernel __attribute__((reqd_work_group_size({X}, {Y}, {Z}))) void ";
  d.global_space = "__global";
  d.local_space = "__local";
  d.const_in = "const ";
  d.barrier = "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);";
  d.fence_block = "mem_fence(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);";
  d.fence_device = "mem_fence(CLK_GLOBAL_MEM_FENCE | CLK_LOCAL_MEM_FENCE);";
  d.local_id = "(int)get_local_id({0})";
  d.group_id = "(int)get_group_id({0})";
  d.fault_helpers = kFaultHelpers;
  d.opaque_zero = "(uint)get_global_offset(0)";  // the runtime launches without an offset
  d.infinity_f32 = "INFINITY";
  d.infinity_f64 = "(double)INFINITY";
  d.bitcast = "as_{T}({0})";
  d.extension_f64 = "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n";
  d.extension_i64_atomics =
      "#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable\n#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable\n";
  const auto type = [&](ir::Type t, std::string_view value, std::string_view memory, std::string_view suffix = {}) {
    d.value_types[at(t)] = value;
    d.memory_types[at(t)] = memory;
    d.suffixes[at(t)] = suffix;
  };
  type(ir::Type::Bool, "bool", "uchar");
  type(ir::Type::I8, "char", "char");
  type(ir::Type::U8, "uchar", "uchar");
  type(ir::Type::I16, "short", "short");
  type(ir::Type::U16, "ushort", "ushort");
  type(ir::Type::I32, "int", "int");
  type(ir::Type::U32, "uint", "uint", "u");
  type(ir::Type::I64, "long", "long", "L");
  type(ir::Type::U64, "ulong", "ulong", "UL");
  // 16 bit floats travel as their bits; legalisation has turned their arithmetic and conversions into integers.
  type(ir::Type::F16, "ushort", "ushort");
  type(ir::Type::Bf16, "ushort", "ushort");
  type(ir::Type::F32, "float", "float");
  type(ir::Type::F64, "double", "double");
  d.sqrt = "sqrt";
  d.fma = "fma";
  d.floor = "floor";
  d.ceil = "ceil";
  d.trunc = "trunc";
  d.fabs = "fabs";
  d.clz = "clz({0})";
  d.ctz = "popcount(~{0} & ({0} - 1))";  // the bits below the lowest one bit; ctz itself came with OpenCL C 2.0
  d.popcount = "popcount({0})";
  d.mul_high = "mul_hi";
  d.copysign = "copysign";
  d.atomic_prefix_32 = "atomic_";
  d.atomic_prefix_64 = "atom_";
  d.atomic_add = "add({P}, {0})";
  d.atomic_sub = "sub({P}, {0})";
  d.atomic_exchange = "xchg({P}, {0})";
  d.atomic_min = "min({P}, {0})";
  d.atomic_max = "max({P}, {0})";
  d.atomic_and = "and({P}, {0})";
  d.atomic_or = "or({P}, {0})";
  d.atomic_xor = "xor({P}, {0})";
  d.atomic_cas = "cmpxchg({P}, {0}, {1})";
  return d;
}

}  // namespace

const Dialect& opencl_dialect() {
  static const Dialect dialect = make();
  return dialect;
}

}  // namespace sarek::emit
