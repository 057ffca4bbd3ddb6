// numeric.h is a header of inline functions; this unit compiles it on its own and refuses a host that breaks its assumptions.
#include "compiler/support/numeric.h"

#include <cfloat>

#if FLT_EVAL_METHOD != 0
#error "the contract needs binary32 and binary64 arithmetic without extra precision (build for SSE2 or better)"
#endif
#ifdef __FAST_MATH__
#error "the contract cannot be kept under -ffast-math"
#endif
