// Masks as words, for machines without mask registers.
#pragma once

#include <llvm/IR/Function.h>

namespace sarek::emit {

/// Turns vectors of bits that are carried between basic blocks, or made of comparisons of 32-bit lanes, into vectors of words of all ones
/// or zeros. Runs last: the optimiser would undo it.
void widen_masks(llvm::Function& function);

}  // namespace sarek::emit
