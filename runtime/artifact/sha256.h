// SHA-256 (FIPS 180-4), for the checksums of packages and for content addresses. Nothing else lives here.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

namespace sarek::artifact {

/// The digest of `bytes`.
std::array<std::uint8_t, 32> sha256(std::span<const std::uint8_t> bytes);
/// The digest as 64 lower-case hexadecimal digits.
std::string sha256_hex(std::span<const std::uint8_t> bytes);

}  // namespace sarek::artifact
