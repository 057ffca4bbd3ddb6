// How checked kernels in text (OpenCL C) report faults: a buffer of 32-bit words, the kernel's last argument. Part of the package format.
#pragma once

#include <cstdint>

namespace sarek::artifact {

/// Words 0 to 2, then for each slot its buffer's bytes (low word, high word; 0 for scalars), then the records.
enum FaultHeader : std::uint32_t {
  kFaultCount = 0,     // threads that met a fault; may be more than there are records
  kFaultCapacity = 1,  // records that fit
  kFaultRecords = 2,   // the word at which they begin
  kFaultBytes = 3,     // the word at which the buffers' sizes begin
};

/// The words of a record. 64-bit values are two words, the low one first.
enum FaultRecord : std::uint32_t {
  kRecordSite = 0,    // index into the kernel's table of fault sites, from 1
  kRecordThread = 1,  // linear thread of the block
  kRecordBlock = 2,   // linear block, x fastest
  kRecordValue = 4,   // the index that was out of bounds; 0 for other faults
  kRecordLimit = 6,   // the length; 0 for other faults
  kRecordWords = 8,
};

}  // namespace sarek::artifact
