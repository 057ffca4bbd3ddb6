#include "emitters/llvm/image.h"

#include <llvm/BinaryFormat/ELF.h>
#include <llvm/Object/ELFObjectFile.h>

#include <cstring>

namespace sarek::emit {

namespace {

using llvm::object::ELF64LEObjectFile;

std::string text_of(llvm::Error error) { return llvm::toString(std::move(error)); }

std::uint32_t read32(const std::uint8_t* at) {
  std::uint32_t v;
  std::memcpy(&v, at, 4);
  return v;
}
void write32(std::uint8_t* at, std::uint32_t v) { std::memcpy(at, &v, 4); }

bool fits(std::int64_t value, int bits) { return value >= -(std::int64_t{1} << (bits - 1)) && value < std::int64_t{1} << (bits - 1); }

/// Resolves one reference. `s` is the target with its addend, `p` the place, both offsets in the image. Empty when done, else what is
/// wrong.
std::string relocate(std::uint16_t machine, std::uint32_t type, std::uint8_t* at, std::int64_t s, std::int64_t p) {
  const std::string unknown = "relocation of type " + std::to_string(type) + " depends on the load address";
  if (machine == llvm::ELF::EM_X86_64) {
    if (type != llvm::ELF::R_X86_64_PC32 && type != llvm::ELF::R_X86_64_PLT32) return unknown;
    if (!fits(s - p, 32)) return "reference out of range";
    write32(at, static_cast<std::uint32_t>(s - p));
    return {};
  }
  const auto low_bits = [&](int scale) {  // the 12 bits of a load or store of 2^scale bytes; pages are 4096 in the image too
    const auto offset = static_cast<std::uint32_t>(s & 0xfff);
    write32(at, (read32(at) & ~(0xfffu << 10)) | (offset >> scale) << 10);
  };
  switch (type) {
    case llvm::ELF::R_AARCH64_ADR_PREL_PG_HI21: {
      const std::int64_t pages = (s >> 12) - (p >> 12);
      if (!fits(pages, 21)) return "reference out of range";
      const auto u = static_cast<std::uint32_t>(pages);
      write32(at, (read32(at) & 0x9f00001fu) | (u & 3) << 29 | (u >> 2 & 0x7ffff) << 5);
      return {};
    }
    case llvm::ELF::R_AARCH64_ADD_ABS_LO12_NC:
    case llvm::ELF::R_AARCH64_LDST8_ABS_LO12_NC: low_bits(0); return {};
    case llvm::ELF::R_AARCH64_LDST16_ABS_LO12_NC: low_bits(1); return {};
    case llvm::ELF::R_AARCH64_LDST32_ABS_LO12_NC: low_bits(2); return {};
    case llvm::ELF::R_AARCH64_LDST64_ABS_LO12_NC: low_bits(3); return {};
    case llvm::ELF::R_AARCH64_LDST128_ABS_LO12_NC: low_bits(4); return {};
    case llvm::ELF::R_AARCH64_CALL26:
    case llvm::ELF::R_AARCH64_JUMP26:
      if (!fits((s - p) / 4, 26)) return "reference out of range";
      write32(at, (read32(at) & 0xfc000000u) | (static_cast<std::uint32_t>((s - p) / 4) & 0x3ffffffu));
      return {};
    case llvm::ELF::R_AARCH64_PREL32:
      if (!fits(s - p, 32)) return "reference out of range";
      write32(at, static_cast<std::uint32_t>(s - p));
      return {};
    default: return unknown;  // not an enumeration of ours
  }
}

}  // namespace

Result<FlatImage> flatten_object(std::span<const std::uint8_t> object) {
  const llvm::MemoryBufferRef buffer(llvm::StringRef(reinterpret_cast<const char*>(object.data()), object.size()), "object");
  llvm::Expected<ELF64LEObjectFile> parsed = ELF64LEObjectFile::create(buffer);
  if (!parsed) return err("the object cannot be read: " + text_of(parsed.takeError()));
  const auto& file = parsed->getELFFile();
  const std::uint16_t machine = file.getHeader().e_machine;

  FlatImage image;
  std::map<std::uint64_t, std::int64_t> placed;  // by section index
  for (const llvm::object::SectionRef& section : parsed->sections()) {
    const llvm::object::ELFSectionRef elf(section);
    if (!(elf.getFlags() & llvm::ELF::SHF_ALLOC) || section.getSize() == 0) continue;
    llvm::Expected<llvm::StringRef> name = section.getName();
    if (!name) return err(text_of(name.takeError()));
    if (name->starts_with(".eh_frame")) continue;  // nothing unwinds through a kernel
    if (elf.getFlags() & llvm::ELF::SHF_WRITE) return err("the object has writable data: " + name->str());
    llvm::Expected<llvm::StringRef> contents = section.getContents();
    if (!contents) return err(text_of(contents.takeError()));
    const std::uint64_t align = std::max<std::uint64_t>(64, section.getAlignment().value());
    if (align > 4096) return err("a section is aligned beyond a page: " + name->str());
    const std::uint64_t offset = (image.bytes.size() + align - 1) / align * align;
    image.bytes.resize(offset);
    image.bytes.insert(image.bytes.end(), contents->bytes_begin(), contents->bytes_end());
    placed[section.getIndex()] = static_cast<std::int64_t>(offset);
  }
  image.bytes.resize((image.bytes.size() + 63) / 64 * 64);

  const auto offset_of = [&](const llvm::object::ELFSymbolRef& symbol) -> Result<std::int64_t> {
    llvm::Expected<llvm::StringRef> name = symbol.getName();
    const std::string shown = name ? name->str() : text_of(name.takeError());
    llvm::Expected<llvm::object::section_iterator> section = symbol.getSection();
    if (!section) return err(text_of(section.takeError()));
    if (*section == parsed->section_end()) return err("the code calls the library function `" + shown + "`");
    const auto at = placed.find((*section)->getIndex());
    if (at == placed.end()) return err("`" + shown + "` lies in a section that is not loaded");
    llvm::Expected<std::uint64_t> value = symbol.getValue();
    if (!value) return err(text_of(value.takeError()));
    return at->second + static_cast<std::int64_t>(*value);
  };

  for (const llvm::object::SectionRef& section : parsed->sections()) {
    llvm::Expected<llvm::object::section_iterator> target = section.getRelocatedSection();
    if (!target) return err(text_of(target.takeError()));
    if (*target == parsed->section_end()) continue;
    const auto home = placed.find((*target)->getIndex());
    if (home == placed.end()) continue;
    for (const llvm::object::ELFRelocationRef relocation : section.relocations()) {
      const llvm::object::symbol_iterator symbol = relocation.getSymbol();
      if (symbol == parsed->symbol_end()) return err("a relocation without a symbol");
      Result<std::int64_t> s = offset_of(*symbol);
      if (!s) return Err(s.error());
      llvm::Expected<std::int64_t> addend = relocation.getAddend();
      if (!addend) return err(text_of(addend.takeError()));
      const std::int64_t p = home->second + static_cast<std::int64_t>(relocation.getOffset());
      if (p < 0 || static_cast<std::size_t>(p) + 4 > image.bytes.size()) return err("a relocation outside of its section");
      const std::string wrong =
          relocate(machine, static_cast<std::uint32_t>(relocation.getType()), image.bytes.data() + p, *s + *addend, p);
      if (!wrong.empty()) return err(wrong);
    }
  }
  for (const llvm::object::ELFSymbolRef symbol : parsed->symbols()) {
    if (symbol.getBinding() != llvm::ELF::STB_GLOBAL) continue;
    Result<std::int64_t> offset = offset_of(symbol);
    if (!offset) return Err(offset.error());
    llvm::Expected<llvm::StringRef> name = symbol.getName();
    if (!name) return err(text_of(name.takeError()));
    image.symbols[name->str()] = *offset;
  }
  return image;
}

}  // namespace sarek::emit
