// From text to results: kernels are typed, lowered, verified and run by the reference interpreter.
#include <catch2/catch_test_macros.hpp>

#include "compiler/sema/test_support.h"

using namespace sarek;
using namespace sarek::sema::testing;

TEST_CASE("saxpy from text to results") {
  std::vector<std::vector<float>> b{{1, 2, 3, 4, 5}, {10, 20, 30, 40, 50}};
  const float a = 2.0f;
  std::int32_t bits = 0;
  std::memcpy(&bits, &a, 4);
  CHECK(run<float>("kernel saxpy(a: f32, x: in [f32], y: inout [f32]) block(256) {\n"
                   "  let i = global_id.x;\n  if i < y.len { y[i] = a * x[i] + y[i]; }\n}\n",
                   b, {bits}) == "");
  CHECK(b[1] == std::vector<float>{12, 24, 36, 48, 60});
}
