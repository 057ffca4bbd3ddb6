#include "compiler/sema/types.h"

#include <algorithm>
#include <array>

namespace sarek::sema {

namespace {

std::int64_t align_up(std::int64_t at, std::int64_t align) { return (at + align - 1) / align * align; }

/// Products of extents stay far inside i64: larger ones are cut off at a number that every limit refuses.
std::int64_t limited_product(std::int64_t a, std::int64_t b) {
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  if (a <= 0 || b <= 0) return 0;
  return a > kMost / b ? kMost : a * b;
}

constexpr const char* kFragments[] = {"fragment_a", "fragment_b", "fragment_c"};

}  // namespace

int RecordDef::field(std::string_view wanted) const {
  for (std::size_t i = 0; i < fields.size(); ++i)
    if (fields[i].name == wanted) return static_cast<int>(i);
  return -1;
}
int RecordDef::constructor(std::string_view wanted) const {
  for (std::size_t i = 0; i < constructors.size(); ++i)
    if (constructors[i].name == wanted) return static_cast<int>(i);
  return -1;
}

TypeTable::TypeTable() {
  error_ = intern({TypeForm::Error, {}, 0, {}, {}});
  never_ = intern({TypeForm::Never, {}, 0, {}, {}});
  unit_ = intern({TypeForm::Tuple, {}, 0, {}, {}});
  for (int t = 0; t <= static_cast<int>(ir::Type::F64); ++t)
    scalars_.push_back(intern({TypeForm::Scalar, static_cast<ir::Type>(t), 0, {}, {}}));
}

TypeId TypeTable::intern(TypeNode node) {
  const auto found = index_.find(node);
  if (found != index_.end()) return found->second;
  const TypeId id(static_cast<std::uint32_t>(nodes_.size()));
  nodes_.push_back(node);
  index_.emplace(std::move(node), id);
  return id;
}

TypeId TypeTable::tuple(std::vector<TypeId> elements) { return intern({TypeForm::Tuple, {}, 0, std::move(elements), {}}); }
TypeId TypeTable::array(TypeId element, std::vector<std::int64_t> extents) {
  return intern({TypeForm::Array, {}, 0, {element}, std::move(extents)});
}
TypeId TypeTable::buffer(TypeId element, std::vector<std::int64_t> extents) {
  return intern({TypeForm::Buffer, {}, 0, {element}, std::move(extents)});
}
TypeId TypeTable::nominal(std::uint32_t number, std::vector<TypeId> args) {
  return intern({defs_[number].is_variant ? TypeForm::Variant : TypeForm::Record, {}, number, std::move(args), {}});
}
TypeId TypeTable::param(std::uint32_t number) { return intern({TypeForm::Param, {}, number, {}, {}}); }
TypeId TypeTable::var(std::uint32_t number) { return intern({TypeForm::Var, {}, number, {}, {}}); }

std::uint32_t TypeTable::add_param(TypeParamInfo info) {
  params_.push_back(std::move(info));
  return static_cast<std::uint32_t>(params_.size() - 1);
}
std::uint32_t TypeTable::add_def(RecordDef record) {
  defs_.push_back(std::move(record));
  return static_cast<std::uint32_t>(defs_.size() - 1);
}

TypeId TypeTable::substitute(TypeId id, const Substitution& by) {
  if (by.empty()) return id;
  const TypeNode node = nodes_[id.index()];
  if (node.form == TypeForm::Param) {
    const auto found = by.find(node.def);
    return found == by.end() ? id : found->second;
  }
  if (node.args.empty()) return id;
  TypeNode changed = node;
  for (TypeId& arg : changed.args) arg = substitute(arg, by);
  return intern(std::move(changed));
}

TypeId TypeTable::member(TypeId of, TypeId type) {
  const RecordDef& record = def_of(of);
  Substitution by;
  for (std::size_t i = 0; i < record.params.size() && i < nodes_[of.index()].args.size(); ++i)
    by[nodes_[record.params[i].index()].def] = nodes_[of.index()].args[i];
  return substitute(type, by);
}

std::string TypeTable::text(TypeId id, const std::function<std::string(TypeId)>& variable) const {
  const TypeNode& node = nodes_[id.index()];
  const auto list = [&](const std::vector<TypeId>& types) {
    std::string out;
    for (const TypeId t : types) out += (out.empty() ? "" : ", ") + text(t, variable);
    return out;
  };
  const auto extents = [&] {
    std::string out;
    for (const std::int64_t e : node.extents) out += (out.empty() ? "" : ", ") + (e < 0 ? std::string("_") : std::to_string(e));
    return out;
  };
  switch (node.form) {
    case TypeForm::Error: return "_";
    case TypeForm::Never: return "()";
    case TypeForm::Scalar: return std::string(ir::type_name(node.scalar));
    case TypeForm::Tuple: return "(" + list(node.args) + ")";
    case TypeForm::Array: return "[" + text(node.args[0], variable) + "; " + extents() + "]";
    case TypeForm::Buffer: return "[" + text(node.args[0], variable) + (node.extents.empty() ? "" : "; " + extents()) + "]";
    case TypeForm::Record:
    case TypeForm::Variant: return defs_[node.def].name + (node.args.empty() ? "" : "<" + list(node.args) + ">");
    case TypeForm::Param: return params_[node.def].name;
    case TypeForm::Var: return variable ? variable(id) : "_";
    case TypeForm::Fragment: return std::string(kFragments[node.def]) + "<" + text(node.args[0], variable) + ", " + extents() + ">";
    case TypeForm::Tensor: return "tensor<" + text(node.args[0], variable) + ">[" + extents() + "]";
  }
  return {};
}

bool TypeTable::is_concrete(TypeId id) const {
  const TypeNode& node = nodes_[id.index()];
  switch (node.form) {
    case TypeForm::Scalar: return node.scalar != ir::Type::Void && !ir::is_weak(node.scalar);
    case TypeForm::Tuple:
    case TypeForm::Array:
    case TypeForm::Record:
    case TypeForm::Variant: return std::all_of(node.args.begin(), node.args.end(), [&](TypeId t) { return is_concrete(t); });
    case TypeForm::Error:
    case TypeForm::Never:
    case TypeForm::Buffer:
    case TypeForm::Param:
    case TypeForm::Var:
    case TypeForm::Fragment:
    case TypeForm::Tensor: return false;
  }
  return false;
}

std::int64_t TypeTable::part_count(TypeId id) {
  const auto found = part_counts_.find(id);
  if (found != part_counts_.end()) return found->second;
  const TypeNode node = nodes_[id.index()];
  part_counts_[id] = 1;  // what a type that contains itself (refused elsewhere) finds here
  std::int64_t count = 1;
  const auto add = [&](TypeId part) { count = std::min(count + part_count(part), kMaxTypeParts + 1); };
  if (node.form == TypeForm::Record || node.form == TypeForm::Variant) {
    const RecordDef record = defs_[node.def];
    for (const FieldDef& f : record.fields) add(member(id, f.type));
    for (const ConstructorDef& c : record.constructors)
      for (const TypeId t : c.payload) add(member(id, t));
  } else {
    for (const TypeId t : node.args) add(t);
  }
  return part_counts_[id] = count;
}

bool TypeTable::is_broken(TypeId id) {
  const TypeNode node = nodes_[id.index()];
  if (node.form == TypeForm::Error) return true;
  if (std::any_of(node.args.begin(), node.args.end(), [&](TypeId t) { return is_broken(t); })) return true;
  if (node.form != TypeForm::Record && node.form != TypeForm::Variant) return false;
  const RecordDef record = defs_[node.def];
  for (const FieldDef& f : record.fields)
    if (is_broken(member(id, f.type))) return true;
  for (const ConstructorDef& c : record.constructors)
    for (const TypeId t : c.payload)
      if (is_broken(member(id, t))) return true;
  return false;
}

std::int64_t TypeTable::element_count(TypeId id) const {
  std::int64_t count = 1;
  for (const std::int64_t e : nodes_[id.index()].extents) count = limited_product(count, e);
  return count;
}

const std::vector<Slot>& TypeTable::slots(TypeId id) {
  const auto found = slots_.find(id);
  if (found != slots_.end()) return found->second;
  const TypeNode node = nodes_[id.index()];
  std::vector<Slot> out;
  switch (node.form) {
    case TypeForm::Scalar: out.push_back({node.scalar, 1}); break;
    case TypeForm::Tuple:
      for (const TypeId t : node.args) {
        const std::vector<Slot> inner = slots(t);
        out.insert(out.end(), inner.begin(), inner.end());
      }
      break;
    case TypeForm::Array:
      out = slots(node.args[0]);
      for (Slot& s : out) s.count = limited_product(s.count, element_count(id));
      break;
    case TypeForm::Record:
      for (const FieldDef& f : std::vector<FieldDef>(def_of(id).fields)) {
        const std::vector<Slot> inner = slots(member(id, f.type));
        out.insert(out.end(), inner.begin(), inner.end());
      }
      break;
    case TypeForm::Variant: {
      std::map<ir::Type, std::int64_t> most;
      for (const ConstructorDef& c : std::vector<ConstructorDef>(def_of(id).constructors)) {
        std::map<ir::Type, std::int64_t> need;
        for (const TypeId t : c.payload)
          for (const Slot& s : std::vector<Slot>(slots(member(id, t)))) need[s.type] += s.count;
        for (const auto& [type, count] : need) most[type] = std::max(most[type], count);
      }
      out.push_back({ir::Type::I32, 1});
      for (const auto& [type, count] : most) out.push_back({type, count});
      break;
    }
    case TypeForm::Error:
    case TypeForm::Never:
    case TypeForm::Buffer:
    case TypeForm::Param:
    case TypeForm::Var:
    case TypeForm::Fragment:
    case TypeForm::Tensor: break;
  }
  return slots_[id] = std::move(out);
}

std::int64_t TypeTable::cells(TypeId id) {
  std::int64_t count = 0;
  for (const Slot& s : slots(id)) count = std::min(count + s.count, std::int64_t{1} << 41);
  return count;
}

std::size_t TypeTable::first_slot(TypeId id, std::size_t index) {
  const TypeNode node = nodes_[id.index()];
  std::size_t at = 0;
  for (std::size_t i = 0; i < index; ++i)
    at += slots(node.form == TypeForm::Tuple ? node.args[i] : member(id, def_of(id).fields[i].type)).size();
  return at;
}

std::vector<std::pair<std::size_t, std::int64_t>> TypeTable::payload_slots(TypeId id, std::size_t constructor, std::size_t argument) {
  const std::vector<Slot> all = slots(id);
  const std::vector<TypeId> payload = def_of(id).constructors[constructor].payload;
  std::map<ir::Type, std::int64_t> used;
  std::vector<std::pair<std::size_t, std::int64_t>> out;
  for (std::size_t i = 0; i <= argument; ++i) {
    for (const Slot& s : std::vector<Slot>(slots(member(id, payload[i])))) {
      if (i == argument) {
        // Slot 0 is the tag; the pools follow in order of their types.
        std::size_t pool = 1;
        while (all[pool].type != s.type) ++pool;
        out.emplace_back(pool, used[s.type]);
      }
      used[s.type] += s.count;
    }
  }
  return out;
}

Memory TypeTable::memory(TypeId id) {
  const TypeNode node = nodes_[id.index()];
  Memory out;
  const auto add = [&](Memory part) {
    out.align = std::max(out.align, part.align);
    out.size = align_up(out.size, part.align) + part.size;
  };
  switch (node.form) {
    case TypeForm::Scalar: return {ir::type_bytes(node.scalar), ir::type_bytes(node.scalar)};
    case TypeForm::Array: {
      const Memory element = memory(node.args[0]);
      return {limited_product(element.size, element_count(id)), element.align};
    }
    case TypeForm::Tuple:
      for (const TypeId t : node.args) add(memory(t));
      break;
    case TypeForm::Record:
      for (const FieldDef& f : std::vector<FieldDef>(def_of(id).fields)) add(memory(member(id, f.type)));
      break;
    case TypeForm::Variant:
      for (const Slot& s : std::vector<Slot>(slots(id))) add({limited_product(ir::type_bytes(s.type), s.count), ir::type_bytes(s.type)});
      break;
    case TypeForm::Error:
    case TypeForm::Never:
    case TypeForm::Buffer:
    case TypeForm::Param:
    case TypeForm::Var:
    case TypeForm::Fragment:
    case TypeForm::Tensor: break;
  }
  out.size = align_up(out.size, out.align);
  return out;
}

std::int64_t TypeTable::field_offset(TypeId id, std::size_t index) {
  const TypeNode node = nodes_[id.index()];
  std::int64_t at = 0;
  for (std::size_t i = 0;; ++i) {
    const Memory part = memory(node.form == TypeForm::Tuple ? node.args[i] : member(id, def_of(id).fields[i].type));
    at = align_up(at, part.align);
    if (i == index) return at;
    at += part.size;
  }
}

std::int64_t TypeTable::variant_offset(TypeId id, std::size_t slot) {
  const std::vector<Slot> all = slots(id);
  std::int64_t at = 0;
  for (std::size_t i = 0;; ++i) {
    at = align_up(at, ir::type_bytes(all[i].type));
    if (i == slot) return at;
    at += ir::type_bytes(all[i].type) * all[i].count;
  }
}

std::vector<std::int64_t> TypeTable::slot_offsets(TypeId id) {
  const TypeNode node = nodes_[id.index()];
  std::vector<std::int64_t> out;
  const auto add = [&](TypeId part, std::int64_t at) {
    for (const std::int64_t inner : slot_offsets(part)) out.push_back(at + inner);
  };
  switch (node.form) {
    case TypeForm::Scalar: out.push_back(0); break;
    case TypeForm::Array: return slot_offsets(node.args[0]);
    case TypeForm::Tuple:
      for (std::size_t i = 0; i < node.args.size(); ++i) add(node.args[i], field_offset(id, i));
      break;
    case TypeForm::Record:
      for (std::size_t i = 0; i < def_of(id).fields.size(); ++i) add(member(id, def_of(id).fields[i].type), field_offset(id, i));
      break;
    case TypeForm::Variant:
      for (std::size_t i = 0; i < slots(id).size(); ++i) out.push_back(variant_offset(id, i));
      break;
    case TypeForm::Error:
    case TypeForm::Never:
    case TypeForm::Buffer:
    case TypeForm::Param:
    case TypeForm::Var:
    case TypeForm::Fragment:
    case TypeForm::Tensor: break;
  }
  return out;
}

void TypeTable::append_layout(TypeId id, std::int64_t at, const std::string& path, std::vector<ir::LayoutField>& out) {
  const TypeNode node = nodes_[id.index()];
  const auto below = [&](const std::string& name) { return path.empty() ? name : path + "." + name; };
  switch (node.form) {
    case TypeForm::Scalar: out.push_back({path, node.scalar, at}); return;
    case TypeForm::Tuple:
      for (std::size_t i = 0; i < node.args.size(); ++i)
        append_layout(node.args[i], at + field_offset(id, i), below(std::to_string(i)), out);
      return;
    case TypeForm::Array: {
      const std::int64_t step = memory(node.args[0]).size;
      for (std::int64_t i = 0; i < element_count(id); ++i) append_layout(node.args[0], at + i * step, below(std::to_string(i)), out);
      return;
    }
    case TypeForm::Record:
      for (std::size_t i = 0; i < def_of(id).fields.size(); ++i) {
        const FieldDef field = def_of(id).fields[i];
        append_layout(member(id, field.type), at + field_offset(id, i), below(field.name), out);
      }
      return;
    case TypeForm::Variant: {
      const std::vector<Slot> all = slots(id);
      out.push_back({below("tag"), ir::Type::I32, at});
      for (std::size_t s = 1; s < all.size(); ++s)
        for (std::int64_t i = 0; i < all[s].count; ++i)
          out.push_back({below(std::string(ir::type_name(all[s].type)) + "." + std::to_string(i)), all[s].type,
                         at + variant_offset(id, s) + i * ir::type_bytes(all[s].type)});
      return;
    }
    case TypeForm::Error:
    case TypeForm::Never:
    case TypeForm::Buffer:
    case TypeForm::Param:
    case TypeForm::Var:
    case TypeForm::Fragment:
    case TypeForm::Tensor: return;
  }
}

ir::ElementLayout TypeTable::layout(TypeId id) {
  const Memory m = memory(id);
  ir::ElementLayout out{text(id), m.size, m.align, {}};
  append_layout(id, 0, "", out.fields);
  return out;
}

}  // namespace sarek::sema
