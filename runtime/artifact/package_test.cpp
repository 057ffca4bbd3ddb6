#include "runtime/artifact/package.h"

#include <catch2/catch_test_macros.hpp>

#include <cstdio>
#include <fstream>
#include <random>

#include "runtime/artifact/sha256.h"

using namespace sarek::artifact;

namespace {

Package sample() {
  Package p;
  p.compiler = "sarekc test";
  p.module = "saxpy";
  p.policy_digest = "none";
  p.blobs.push_back({"native", std::vector<std::uint8_t>(100, 0xc3)});
  p.blobs.push_back({"ir", {'a', 'b'}});
  Kernel k;
  k.name = "saxpy";
  k.file = "saxpy.sarek";
  k.line = 3;
  k.block = {256, 1, 1};
  k.params.push_back({"a", false, "", "f32", 4, 4, {{"", "f32", 0}}, {}, 0, 1});
  k.params.push_back({"x", true, "in", "f32", 4, 4, {{"", "f32", 0}}, {}, 1, 1});
  k.slots.push_back({"scalar", "f32", "a", 0, -1, 0});
  k.slots.push_back({"buffer", "", "x", 1, -1, 0});
  k.slots.push_back({"length", "i32", "x.len", -1, 1, 0});
  Variant v;
  v.target = "native";
  v.level = "avx2";
  v.blob = 0;
  v.entry = 16;
  k.variants.push_back(v);
  p.kernels.push_back(k);
  return p;
}

}  // namespace

TEST_CASE("SHA-256 of the standard's examples") {
  const auto hex = [](std::string_view text) { return sha256_hex({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}); };
  CHECK(hex("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(hex("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

TEST_CASE("a package round-trips and equal packages give equal bytes") {
  const std::vector<std::uint8_t> bytes = write_package(sample());
  CHECK(bytes == write_package(sample()));
  const auto read = read_package(bytes);
  REQUIRE(read);
  CHECK(write_package(*read) == bytes);
  CHECK(read->kernels[0].slots[2].of_slot == 1);
  CHECK(read->kernels[0].variants[0].entry == 16);
  CHECK(read->blobs[1].bytes == std::vector<std::uint8_t>{'a', 'b'});
}

TEST_CASE("every truncation and every flipped bit is refused") {
  const std::vector<std::uint8_t> bytes = write_package(sample());
  for (std::size_t n = 0; n < bytes.size(); ++n) REQUIRE_FALSE(read_package({bytes.data(), n}));
  std::mt19937 random(1);
  for (int i = 0; i < 3000; ++i) {
    std::vector<std::uint8_t> damaged = bytes;
    const std::size_t at = random() % damaged.size();
    damaged[at] = static_cast<std::uint8_t>(damaged[at] ^ (1u << (random() % 8)));
    const auto read = read_package(damaged);
    // Padding between blobs and the reserved word carry no meaning; everything else is under a checksum.
    if (read) REQUIRE(write_package(*read) == bytes);
  }
}

TEST_CASE("a package is loaded from a regular file, and from nothing else") {
  const std::string path = std::string(SAREK_BINARY_DIR) + "/package_test.sarek.pkg";
  const std::vector<std::uint8_t> bytes = write_package(sample());
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  const auto read = load_package(path);
  REQUIRE(read);
  CHECK(write_package(*read) == bytes);
  std::ofstream(path, std::ios::binary).close();
  CHECK(load_package(path).error().message == path + ": this is no sarek package");
  std::remove(path.c_str());
  CHECK(load_package(path).error().message == "cannot read `" + path + "`");
  CHECK(load_package(SAREK_BINARY_DIR).error().message == "cannot read `" SAREK_BINARY_DIR "`");
}

TEST_CASE("a newer format and a hostile index are refused with the reason") {
  std::vector<std::uint8_t> newer = write_package(sample());
  newer[8] = 99;
  CHECK(read_package(newer).error().message.find("format version 99") != std::string::npos);

  Package wrong = sample();
  wrong.kernels[0].variants[0].entry = 5000;
  CHECK_FALSE(read_package(write_package(wrong)));
  wrong = sample();
  wrong.kernels[0].slots[2].of_slot = 0;
  CHECK(read_package(write_package(wrong)).error().message.find("length of no buffer") != std::string::npos);
  wrong = sample();
  wrong.kernels[0].params[1].first_slot = 2;
  CHECK_FALSE(read_package(write_package(wrong)));
  wrong = sample();
  wrong.kernels[0].slots[0].type = "f8";
  CHECK(read_package(write_package(wrong)).error().message.find("slot `a` has the unknown type `f8`") != std::string::npos);
  // A buffer slot that no parameter owns would be an address that nobody gives; so would the second slot of a buffer.
  wrong = sample();
  wrong.kernels[0].slots.push_back({"buffer", "", "stray", 0, -1, 0});
  CHECK(read_package(write_package(wrong)).error().message == "slot `stray` is not among those of its parameter");
  wrong.kernels[0].slots[3] = {"scalar", "i32", "stray", 0, -1, 0};
  CHECK(read_package(write_package(wrong)).error().message == "slot `stray` is not among those of its parameter");
  wrong = sample();
  wrong.kernels[0].slots.insert(wrong.kernels[0].slots.begin() + 2, {"buffer", "", "x", 1, -1, 0});
  wrong.kernels[0].params[1].slot_count = 2;
  CHECK(read_package(write_package(wrong)).error().message == "`slot_count` is out of range (2)");
  wrong = sample();
  wrong.kernels[0].slots[0].kind = "num-groups";
  CHECK(read_package(write_package(wrong)).error().message == "the slots of parameter `a` are not its own");
  wrong = sample();
  wrong.kernels.push_back(wrong.kernels[0]);
  CHECK(read_package(write_package(wrong)).error().message.find("stands twice") != std::string::npos);
}
