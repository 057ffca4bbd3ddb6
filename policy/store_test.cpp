#include <catch2/catch_test_macros.hpp>
#include "policy/store.h"
