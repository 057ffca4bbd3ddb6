// Writer and reader of packages. The reader trusts nothing: every number of the header and the index is checked before it is used.
#include "runtime/artifact/package.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>

#include "runtime/artifact/sha256.h"

namespace sarek::artifact {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kMagic[] = {'S', 'A', 'R', 'E', 'K', 'P', 'K', 'G'};
constexpr std::size_t kHeader = 64;
constexpr std::size_t kAlign = 64;
constexpr std::size_t kMaxIndex = std::size_t{64} << 20;
constexpr std::size_t kMaxItems = 100000;

template <class Int>
void put(std::vector<std::uint8_t>& out, std::size_t at, Int value) {
  for (std::size_t i = 0; i < sizeof(Int); ++i) out[at + i] = static_cast<std::uint8_t>(value >> (8 * i));
}

template <class Int>
Int get(std::span<const std::uint8_t> bytes, std::size_t at) {
  Int value = 0;
  for (std::size_t i = 0; i < sizeof(Int); ++i) value = static_cast<Int>(value | static_cast<Int>(bytes[at + i]) << (8 * i));
  return value;
}

Json to_json(const Param& p) {
  Json fields = Json::array();
  for (const Field& f : p.fields) fields.push_back({{"path", f.path}, {"type", f.type}, {"offset", f.offset}});
  return {{"name", p.name},
          {"kind", p.is_buffer ? "buffer" : "scalar"},
          {"access", p.access},
          {"type", p.type},
          {"size", p.size},
          {"align", p.align},
          {"fields", fields},
          {"view", p.view},
          {"first_slot", p.first_slot},
          {"slot_count", p.slot_count}};
}

Json to_json(const Variant& v) {
  Json sites = Json::array();
  for (const FaultSite& s : v.fault_sites)
    sites.push_back({{"kind", s.kind}, {"detail", s.detail}, {"file", s.file}, {"line", s.line}, {"column", s.column}});
  return {{"target", v.target},
          {"level", v.level},
          {"grants", v.grants},
          {"optimisations", v.optimisations},
          {"requires", v.requires_},
          {"blob", v.blob},
          {"entry", v.entry},
          {"entry_name", v.entry_name},
          {"shared_bytes", v.shared_bytes},
          {"scratch_bytes", v.scratch_bytes},
          {"fault_sites", sites}};
}

Json to_json(const Kernel& k) {
  Json params = Json::array(), slots = Json::array(), shared = Json::array(), variants = Json::array();
  for (const Param& p : k.params) params.push_back(to_json(p));
  for (const Slot& s : k.slots)
    slots.push_back({{"kind", s.kind}, {"type", s.type}, {"name", s.name}, {"param", s.param}, {"of_slot", s.of_slot}, {"axis", s.axis}});
  for (const DynamicShared& d : k.dynamic_shared) shared.push_back({{"name", d.name}, {"type", d.type}, {"element_size", d.element_size}});
  for (const Variant& v : k.variants) variants.push_back(to_json(v));
  return {{"name", k.name},
          {"file", k.file},
          {"line", k.line},
          {"block", k.block},
          {"wide", k.wide},
          {"checked", k.checked},
          {"params", params},
          {"slots", slots},
          {"dynamic_shared", shared},
          {"argument_slots", k.slots.size()},
          {"push_bytes", k.push_bytes},
          {"variants", variants},
          {"fusion", nullptr}};
}

/// A fault of the file; thrown and caught inside this file only.
struct Refused {
  std::string why;
};

[[noreturn]] void refuse(std::string why) { throw Refused{std::move(why)}; }

const Json& member(const Json& object, const char* key) {
  if (!object.is_object()) refuse(std::string("the index has no object where `") + key + "` is expected");
  const auto it = object.find(key);
  if (it == object.end()) refuse(std::string("the index lacks `") + key + "`");
  return *it;
}

std::string text(const Json& object, const char* key) {
  const Json& v = member(object, key);
  if (!v.is_string()) refuse(std::string("`") + key + "` is not a string");
  return v.get<std::string>();
}

bool flag(const Json& object, const char* key) {
  const Json& v = member(object, key);
  if (!v.is_boolean()) refuse(std::string("`") + key + "` is not a boolean");
  return v.get<bool>();
}

std::int64_t number(const Json& value, const char* key, std::int64_t least, std::int64_t greatest) {
  if (!value.is_number_integer() || (value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX))
    refuse(std::string("`") + key + "` is not an integer");
  const auto n = value.get<std::int64_t>();
  if (n < least || n > greatest) refuse(std::string("`") + key + "` is out of range (" + std::to_string(n) + ")");
  return n;
}

std::int64_t number(const Json& object, const char* key, std::int64_t least, std::int64_t greatest, int) {
  return number(member(object, key), key, least, greatest);
}

const Json& list(const Json& object, const char* key) {
  const Json& v = member(object, key);
  if (!v.is_array() || v.size() > kMaxItems) refuse(std::string("`") + key + "` is not a list of plausible length");
  return v;
}

std::vector<std::string> texts(const Json& object, const char* key) {
  std::vector<std::string> out;
  for (const Json& v : list(object, key)) {
    if (!v.is_string()) refuse(std::string("`") + key + "` holds something else than strings");
    out.push_back(v.get<std::string>());
  }
  return out;
}

/// A file as it lies on the disk, for the time of reading it: what a package keeps is copied, so that the file may change afterwards.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    struct stat info{};
    if (::fstat(file, &info) == 0 && S_ISREG(info.st_mode)) {
      size_ = static_cast<std::size_t>(info.st_size);
      // Nothing can be mapped of an empty file, which is open all the same.
      if (size_ > 0) memory_ = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file, 0);
      is_open_ = memory_ != MAP_FAILED;
    }
    ::close(file);
  }
  ~MappedFile() {
    if (is_open_ && size_ > 0) ::munmap(memory_, size_);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  bool is_open() const { return is_open_; }
  std::span<const std::uint8_t> bytes() const { return {static_cast<const std::uint8_t*>(memory_), size_}; }

 private:
  void* memory_ = nullptr;
  std::size_t size_ = 0;
  bool is_open_ = false;
};

constexpr std::int64_t kMaxSize = std::int64_t{1} << 40;

Param read_param(const Json& j, int slots) {
  Param p;
  p.name = text(j, "name");
  const std::string kind = text(j, "kind");
  if (kind != "buffer" && kind != "scalar") refuse("unknown parameter kind `" + kind + "`");
  p.is_buffer = kind == "buffer";
  p.access = text(j, "access");
  if (p.is_buffer != (p.access == "in" || p.access == "out" || p.access == "inout"))
    refuse("parameter `" + p.name + "` has no valid access");
  p.type = text(j, "type");
  p.size = number(j, "size", 1, kMaxSize, 0);
  p.align = number(j, "align", 1, 4096, 0);
  for (const Json& f : list(j, "fields")) p.fields.push_back({text(f, "path"), text(f, "type"), number(f, "offset", 0, p.size - 1, 0)});
  for (const Json& e : list(j, "view")) p.view.push_back(number(e, "view", 0, kMaxSize));
  p.slot_count = static_cast<int>(number(j, "slot_count", p.is_buffer ? 1 : 0, p.is_buffer ? 1 : slots, 0));
  p.first_slot = static_cast<int>(number(j, "first_slot", 0, slots - p.slot_count, 0));
  return p;
}

Variant read_variant(const Json& j, const std::vector<Blob>& blobs) {
  Variant v;
  v.target = text(j, "target");
  v.level = text(j, "level");
  v.grants = texts(j, "grants");
  v.optimisations = texts(j, "optimisations");
  v.requires_ = texts(j, "requires");
  v.blob = static_cast<int>(number(j, "blob", 0, static_cast<std::int64_t>(blobs.size()) - 1, 0));
  const auto blob_size = static_cast<std::int64_t>(blobs[static_cast<std::size_t>(v.blob)].bytes.size());
  v.entry = number(j, "entry", 0, std::max<std::int64_t>(blob_size - 1, 0), 0);
  v.entry_name = text(j, "entry_name");
  v.shared_bytes = number(j, "shared_bytes", 0, std::int64_t{1} << 31, 0);
  v.scratch_bytes = number(j, "scratch_bytes", 0, std::int64_t{1} << 31, 0);
  for (const Json& s : list(j, "fault_sites"))
    v.fault_sites.push_back({text(s, "kind"), text(s, "detail"), text(s, "file"), static_cast<int>(number(s, "line", 0, INT32_MAX, 0)),
                             static_cast<int>(number(s, "column", 0, INT32_MAX, 0))});
  return v;
}

bool is_scalar_type(const std::string& type) {
  for (const char* known : {"bool", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f16", "bf16", "f32", "f64"})
    if (type == known) return true;
  return false;
}

Slot read_slot(const Json& j, std::size_t slot_count, std::size_t param_count, std::size_t shared_count) {
  Slot s;
  s.kind = text(j, "kind");
  s.type = text(j, "type");
  s.name = text(j, "name");
  const auto params = static_cast<std::int64_t>(param_count);
  const auto slots = static_cast<std::int64_t>(slot_count);
  s.param = static_cast<int>(number(j, "param", -1, params - 1, 0));
  s.axis = static_cast<int>(number(j, "axis", 0, 2, 0));
  const bool needs_param = s.kind == "buffer" || s.kind == "scalar";
  if (s.kind == "buffer" ? !s.type.empty() : !is_scalar_type(s.type)) refuse("slot `" + s.name + "` has the unknown type `" + s.type + "`");
  if (needs_param && s.param < 0) refuse("slot `" + s.name + "` belongs to no parameter");
  if (s.kind == "length") s.of_slot = static_cast<int>(number(j, "of_slot", 0, slots - 1, 0));
  else if (s.kind == "shared-length") s.of_slot = static_cast<int>(number(j, "of_slot", 0, static_cast<std::int64_t>(shared_count) - 1, 0));
  else if (!needs_param && s.kind != "num-groups") refuse("unknown slot kind `" + s.kind + "`");
  return s;
}

Kernel read_kernel(const Json& j, const std::vector<Blob>& blobs) {
  Kernel k;
  k.name = text(j, "name");
  k.file = text(j, "file");
  k.line = static_cast<int>(number(j, "line", 0, INT32_MAX, 0));
  const Json& block = list(j, "block");
  if (block.size() != 3) refuse("`block` of kernel `" + k.name + "` has not three extents");
  for (std::size_t i = 0; i < 3; ++i) k.block[i] = static_cast<int>(number(block[i], "block", 1, 1 << 20));
  k.wide = flag(j, "wide");
  k.checked = flag(j, "checked");
  k.push_bytes = number(j, "push_bytes", 0, 1 << 20, 0);
  const Json& slots = list(j, "slots");
  for (const Json& p : list(j, "params")) k.params.push_back(read_param(p, static_cast<int>(slots.size())));
  for (const Json& d : list(j, "dynamic_shared"))
    k.dynamic_shared.push_back({text(d, "name"), text(d, "type"), number(d, "element_size", 1, 16, 0)});
  for (const Json& s : slots) k.slots.push_back(read_slot(s, slots.size(), k.params.size(), k.dynamic_shared.size()));
  for (const Slot& s : k.slots)
    if (s.kind == "length" && k.slots[static_cast<std::size_t>(s.of_slot)].kind != "buffer")
      refuse("slot `" + s.name + "` is the length of no buffer");
  std::vector<bool> owned(k.slots.size());
  for (std::size_t p = 0; p < k.params.size(); ++p)
    for (int s = 0; s < k.params[p].slot_count; ++s) {
      const auto at = static_cast<std::size_t>(k.params[p].first_slot + s);
      const Slot& slot = k.slots[at];
      if (slot.param != static_cast<int>(p) || slot.kind != (k.params[p].is_buffer ? "buffer" : "scalar"))
        refuse("the slots of parameter `" + k.params[p].name + "` are not its own");
      owned[at] = true;
    }
  // The launch fills what parameters own: any other buffer would be an address that nobody gave.
  for (std::size_t s = 0; s < k.slots.size(); ++s)
    if (!owned[s] && (k.slots[s].kind == "buffer" || k.slots[s].kind == "scalar"))
      refuse("slot `" + k.slots[s].name + "` is not among those of its parameter");
  for (const Json& v : list(j, "variants")) k.variants.push_back(read_variant(v, blobs));
  return k;
}

Package read_checked(std::span<const std::uint8_t> bytes) {
  if (bytes.size() < kHeader || std::memcmp(bytes.data(), kMagic, sizeof kMagic) != 0) refuse("this is no sarek package");
  const auto version = get<std::uint32_t>(bytes, 8);
  if (version != kFormatVersion)
    refuse("the package has format version " + std::to_string(version) + ", this runtime reads version " + std::to_string(kFormatVersion));
  const auto index_offset = get<std::uint64_t>(bytes, 16);
  const auto index_size = get<std::uint64_t>(bytes, 24);
  if (index_size > kMaxIndex || index_offset < kHeader || index_offset > bytes.size() || index_size != bytes.size() - index_offset)
    refuse("the package is truncated or has bytes after its index");
  const std::span<const std::uint8_t> index = bytes.subspan(index_offset);
  const auto digest = sha256(index);
  if (std::memcmp(digest.data(), bytes.data() + 32, digest.size()) != 0) refuse("the package's index is corrupt (checksum)");
  const Json j = Json::parse(index.begin(), index.end(), nullptr, false);
  if (j.is_discarded()) refuse("the package's index is no JSON");

  Package p;
  p.compiler = text(j, "compiler");
  p.module = text(j, "module");
  p.policy_digest = text(j, "policy_digest");
  std::uint64_t expected_offset = kHeader;
  for (const Json& b : list(j, "blobs")) {
    const auto offset = static_cast<std::uint64_t>(number(b, "offset", 0, INT64_MAX, 0));
    const auto size = static_cast<std::uint64_t>(number(b, "size", 0, INT64_MAX, 0));
    if (offset != expected_offset || offset > index_offset || size > index_offset - offset) refuse("a blob lies outside the package");
    const auto blob = bytes.subspan(offset, size);
    if (sha256_hex(blob) != text(b, "sha256")) refuse("a blob of the package is corrupt (checksum)");
    p.blobs.push_back({text(b, "kind"), {blob.begin(), blob.end()}});
    expected_offset = (offset + size + kAlign - 1) / kAlign * kAlign;
  }
  std::set<std::string> names;
  for (const Json& k : list(j, "kernels")) {
    p.kernels.push_back(read_kernel(k, p.blobs));
    if (!names.insert(p.kernels.back().name).second) refuse("kernel `" + p.kernels.back().name + "` stands twice in the package");
  }
  return p;
}

}  // namespace

std::string index_text(const Package& package) {
  Json blobs = Json::array();
  std::size_t offset = kHeader;
  for (const Blob& b : package.blobs) {
    blobs.push_back({{"kind", b.kind}, {"offset", offset}, {"size", b.bytes.size()}, {"sha256", sha256_hex(b.bytes)}});
    offset = (offset + b.bytes.size() + kAlign - 1) / kAlign * kAlign;
  }
  Json kernels = Json::array();
  for (const Kernel& k : package.kernels) kernels.push_back(to_json(k));
  const Json index = {{"format", kFormatVersion}, {"compiler", package.compiler},
                      {"module", package.module}, {"policy_digest", package.policy_digest},
                      {"blobs", blobs},           {"kernels", kernels}};
  // Names come from sources of any encoding: a byte that is no UTF-8 is replaced, not thrown over.
  return index.dump(1, ' ', false, Json::error_handler_t::replace);
}

std::vector<std::uint8_t> write_package(const Package& package) {
  const std::string json = index_text(package);
  std::vector<std::uint8_t> out(kHeader, 0);
  for (const Blob& b : package.blobs) {
    out.insert(out.end(), b.bytes.begin(), b.bytes.end());
    out.resize((out.size() + kAlign - 1) / kAlign * kAlign, 0);
  }
  const std::size_t offset = out.size();
  out.insert(out.end(), json.begin(), json.end());
  std::memcpy(out.data(), kMagic, sizeof kMagic);
  put<std::uint32_t>(out, 8, kFormatVersion);
  put<std::uint64_t>(out, 16, offset);
  put<std::uint64_t>(out, 24, json.size());
  const auto digest = sha256(std::span<const std::uint8_t>(out).subspan(offset));
  std::memcpy(out.data() + 32, digest.data(), digest.size());
  return out;
}

Result<Package> read_package(std::span<const std::uint8_t> bytes) {
  try {
    return read_checked(bytes);
  } catch (const Refused& refused) { return err(refused.why); } catch (const nlohmann::json::exception& fault) {
    return err(std::string("the package's index is malformed: ") + fault.what());
  }
}

Result<Package> load_package(const std::string& path) {
  const MappedFile file(path);
  if (!file.is_open()) return err("cannot read `" + path + "`");
  Result<Package> package = read_package(file.bytes());
  if (!package) return err(path + ": " + package.error().message);
  return package;
}

}  // namespace sarek::artifact
