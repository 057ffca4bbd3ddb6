// Inside compiler/spec only: the rule lists and the small predicates that rules share.
#pragma once

#include <vector>

#include "compiler/spec/spec.h"

namespace sarek::spec::rules {

/// x has the type, or is Invalid, which matches any.
bool matches(const ir::Graph& graph, ir::NodeId x, ir::Type type);
/// matches, or x is weak and of the type's kind.
bool weak_ok(const ir::Graph& graph, ir::NodeId x, ir::Type type);
/// Sources that name devices agree with the argument: one device takes none, several take exactly one Device RANGE over as many.
bool device_sources_ok(Context& c, ir::NodeId node, const std::vector<std::string>& devices);
/// Is the device a disk ("DISK", "disk:path")?
bool is_disk(const std::string& device);
/// SINK, PROGRAM, LINEAR, STORE, CUSTOM_FUNCTION: a call's body that is not looked into.
bool is_opaque_body(ir::Op op);
bool every_source(const ir::Graph& graph, ir::NodeId node, std::size_t first, bool (*test)(const ir::Graph&, ir::NodeId));
bool has_no_arg(const ir::Graph& graph, ir::NodeId node);

std::vector<Rule> shared();
std::vector<Rule> tensor();
std::vector<Rule> program();
std::vector<Rule> between_stages();
std::vector<Rule> kernel_graph();

}  // namespace sarek::spec::rules
