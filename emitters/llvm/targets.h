// The machines: LLVM's target for each level, the tuning of functions, the list of passes. Nothing here knows programs.
#pragma once

#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include <memory>

#include "emitters/llvm/native.h"

namespace sarek::emit {

/// Lanes of 32 bits in the level's widest vector.
int natural_lanes(NativeLevel level);
/// Throws EmitFault when LLVM was built without the target.
std::unique_ptr<llvm::TargetMachine> make_target_machine(NativeLevel level, int opt_level);
/// The attributes that select instructions and tuning.
void tune_function(llvm::Function& function, NativeLevel level);
/// Optimises the module in place: a short list, since programs arrive optimised and vectorised.
void run_passes(llvm::Module& module, llvm::TargetMachine& machine, NativeLevel level, int opt_level);
/// The module as an object or as assembly.
std::vector<std::uint8_t> generate_code(llvm::Module& module, llvm::TargetMachine& machine, bool assembly);

}  // namespace sarek::emit
