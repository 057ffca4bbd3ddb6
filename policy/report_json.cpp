// The JSON form of a report: writing and reading, side by side so that they keep to one schema (sarek.explain.schema.json).
#include <utility>

#include "policy/json_text.h"
#include "policy/report.h"

namespace sarek::policy {
namespace {

using detail::json_string;
using detail::JsonValue;

std::string grant_names(GrantSet grants) {
  std::string text = "[";
  for (Grant grant : grants) text += (text.size() > 1 ? ", " : "") + json_string(grant_name(grant));
  return text + "]";
}

void append(std::string& text, std::string_view key, const std::string& value) {
  text.append(", \"").append(key).append("\": ").append(value);
}

void append_decision(std::string& text, const Decision& decision) {
  if (const auto* refused = std::get_if<Refused>(&decision)) {
    append(text, "outcome", "\"refused\"");
    append(text, "why", json_string(refused->why));
    if (const GrantSet missing = missing_grants(decision); !missing.empty()) append(text, "allowed_by", grant_names(missing));
    return;
  }
  append(text, "outcome", "\"applied\"");
  const Evidence& evidence = std::get<Applied>(decision).evidence;
  if (const auto* proof = std::get_if<Proof>(&evidence)) {
    append(text, "evidence", "\"proof\"");
    append(text, "proof", json_string(proof->text));
  } else if (const auto* granted = std::get_if<Granted>(&evidence)) {
    append(text, "evidence", "\"granted\"");
    append(text, "grants", grant_names(granted->grants));
    append(text, "reason", json_string(granted->reason));
    if (granted->lowering) append(text, "lowering", json_string(*granted->lowering));
  } else {
    append(text, "evidence", "\"exact\"");
  }
}

void append_place(std::string& text, const SourcePlace& place) {
  if (place.line == 0) return;
  append(text, "file", json_string(place.file));
  append(text, "line", std::to_string(place.line));
  append(text, "column", std::to_string(place.column));
}

std::string entry_text(const ExplainEntry& entry) {
  std::string text = "{ \"event\": ";
  if (const auto* record = std::get_if<Record>(&entry.event)) {
    text += "\"decision\", \"kernel\": " + json_string(record->kernel);
    append(text, "target", json_string(record->target));
    append(text, "optimisation", json_string(optimisation_name(record->optimisation)));
    append_decision(text, record->decision);
  } else if (const auto* gate = std::get_if<GateEvent>(&entry.event)) {
    text += "\"gate\", \"kernel\": " + json_string(gate->kernel);
    append(text, "target", json_string(gate->target));
    append_decision(text, gate->decision);
  } else {
    const auto& ignored = std::get<IgnoredGrant>(entry.event);
    text += "\"ignored-grant\", \"kernel\": " + json_string(ignored.kernel);
    append(text, "grant", json_string(grant_name(ignored.grant)));
    append(text, "cause", ignored.cause == Ignored::Revoked ? "\"revoked\"" : "\"generated-name\"");
  }
  append_place(text, entry.place);
  return text + " }";
}

template <typename Items, typename Text>
std::string list(const Items& items, Text item_text) {
  std::string text = "[";
  for (const auto& item : items) text += (text.size() > 1 ? ",\n    " : "\n    ") + item_text(item);
  return text + (items.empty() ? "]" : "\n  ]");
}

/// Reads the tree; every function returns false after noting a fault.
class ReportReader {
 public:
  explicit ReportReader(std::string_view text) : lines_(text) {}
  ReportFault fault;

  bool fail(std::size_t at, std::string message) {
    const detail::TextPlace place = lines_.place(at);
    fault = {place.line, place.column, std::move(message)};
    return false;
  }

  bool read(const JsonValue& file, ExplainReport& report) {
    if (file.kind != JsonValue::Kind::Object) return fail(file.begin, "a report is an object");
    const JsonValue* version = file.find("version");
    std::int64_t number = 0;
    if (version == nullptr || !version->to_integer(number) || number != 1)
      return fail(version ? version->begin : file.begin, "the report's version is not 1");
    if (!text(file, "tool_version", report.tool_version, false) || !text(file, "policy_digest", report.policy_digest, false) ||
        !text(file, "manifest", report.manifest, false) || !text(file, "new_manifest", report.new_manifest, false))
      return false;
    const JsonValue* events = nullptr;
    const JsonValue* plans = nullptr;
    const JsonValue* unproven = nullptr;
    if (!array(file, "events", events) || !array(file, "plans", plans) || !array(file, "unproven_accesses", unproven)) return false;
    if (events == nullptr) return fail(file.begin, "a report needs the key `events`");
    for (const JsonValue& item : events->items)
      if (!read_entry(item, report)) return false;
    for (std::size_t i = 0; plans != nullptr && i < plans->items.size(); ++i) {
      FusionPlan plan;
      if (!text(plans->items[i], "kernel", plan.kernel) || !text(plans->items[i], "text", plan.text)) return false;
      report.plans.push_back(std::move(plan));
    }
    for (std::size_t i = 0; unproven != nullptr && i < unproven->items.size(); ++i) {
      UnprovenAccess access;
      const JsonValue& item = unproven->items[i];
      if (!text(item, "kernel", access.kernel) || !text(item, "why", access.why) || !place(item, access.place)) return false;
      report.unproven.push_back(std::move(access));
    }
    return true;
  }

 private:
  bool text(const JsonValue& object, std::string_view key, std::string& out, bool needed = true) {
    if (object.kind != JsonValue::Kind::Object) return fail(object.begin, "expected an object here");
    const JsonValue* value = object.find(key);
    if (value == nullptr) return !needed || fail(object.begin, "the key `" + std::string(key) + "` is missing");
    if (value->kind != JsonValue::Kind::String) return fail(value->begin, "`" + std::string(key) + "` must be a string");
    out = value->text;
    return true;
  }

  bool array(const JsonValue& object, std::string_view key, const JsonValue*& out) {
    out = object.find(key);
    if (out != nullptr && out->kind != JsonValue::Kind::Array) return fail(out->begin, "`" + std::string(key) + "` must be an array");
    return true;
  }

  bool count(const JsonValue& object, std::string_view key, std::size_t& out) {
    const JsonValue* value = object.find(key);
    std::int64_t number = 0;
    if (value == nullptr) return true;
    if (!value->to_integer(number) || number < 1) return fail(value->begin, "`" + std::string(key) + "` must be a whole number from 1");
    out = static_cast<std::size_t>(number);
    return true;
  }

  bool place(const JsonValue& item, SourcePlace& out) {
    return text(item, "file", out.file, false) && count(item, "line", out.line) && count(item, "column", out.column);
  }

  bool grants(const JsonValue& item, GrantSet& out) {
    const JsonValue* names = nullptr;
    if (!array(item, "grants", names)) return false;
    if (names == nullptr) return fail(item.begin, "the key `grants` is missing");
    for (const JsonValue& name : names->items) {
      const std::optional<Grant> grant = grant_by_name(name.text);
      if (!grant) return fail(name.begin, "no such grant");
      out.insert(*grant);
    }
    return true;
  }

  bool read_decision(const JsonValue& item, Decision& decision) {
    std::string outcome;
    std::string evidence;
    if (!text(item, "outcome", outcome)) return false;
    if (outcome == "refused") {
      Refused refused;
      if (!text(item, "why", refused.why)) return false;
      decision = std::move(refused);
      return true;
    }
    if (outcome != "applied") return fail(item.find("outcome")->begin, "no such outcome");
    if (!text(item, "evidence", evidence)) return false;
    if (evidence == "exact") {
      decision = Applied{ExactByConstruction{}};
      return true;
    }
    if (evidence == "proof") {
      Proof proof;
      if (!text(item, "proof", proof.text)) return false;
      decision = Applied{std::move(proof)};
      return true;
    }
    if (evidence != "granted") return fail(item.find("evidence")->begin, "no such evidence");
    Granted granted;
    if (!grants(item, granted.grants) || !text(item, "reason", granted.reason)) return false;
    if (item.find("lowering") != nullptr && !text(item, "lowering", granted.lowering.emplace())) return false;
    decision = Applied{std::move(granted)};
    return true;
  }

  bool read_entry(const JsonValue& item, ExplainReport& report) {
    std::string event;
    std::string kernel;
    std::string target;
    std::string name;
    Decision decision = Refused{};
    SourcePlace at;
    if (!text(item, "event", event) || !text(item, "kernel", kernel) || !place(item, at)) return false;
    if (event == "decision") {
      if (!text(item, "target", target) || !text(item, "optimisation", name) || !read_decision(item, decision)) return false;
      const std::optional<Optimisation> optimisation = optimisation_by_name(name);
      if (!optimisation) return fail(item.find("optimisation")->begin, "no such optimisation");
      report.entries.push_back({Record{kernel, target, *optimisation, decision}, at});
    } else if (event == "gate") {
      if (!text(item, "target", target) || !read_decision(item, decision)) return false;
      report.entries.push_back({GateEvent{kernel, target, decision}, at});
    } else if (event == "ignored-grant") {
      std::string cause;
      if (!text(item, "grant", name) || !text(item, "cause", cause)) return false;
      const std::optional<Grant> grant = grant_by_name(name);
      if (!grant) return fail(item.find("grant")->begin, "no such grant");
      if (cause != "revoked" && cause != "generated-name") return fail(item.find("cause")->begin, "no such cause");
      report.entries.push_back({IgnoredGrant{kernel, *grant, cause == "revoked" ? Ignored::Revoked : Ignored::GeneratedName}, at});
    } else {
      return fail(item.find("event")->begin, "no such event");
    }
    return true;
  }

  detail::LineIndex lines_;
};

}  // namespace

std::string report_as_json(const ExplainReport& report) {
  std::string text = "{\n  \"$schema\": \"sarek.explain.schema.json\",\n  \"version\": 1";
  const auto field = [&](std::string_view key, const std::string& value) {
    text.append(",\n  \"").append(key).append("\": ").append(value);
  };
  field("tool_version", json_string(report.tool_version));
  field("policy_digest", json_string(report.policy_digest));
  field("manifest", json_string(report.manifest));
  if (!report.new_manifest.empty()) field("new_manifest", json_string(report.new_manifest));
  field("events", list(report.entries, entry_text));
  field("plans", list(report.plans, [](const FusionPlan& plan) {
          return "{ \"kernel\": " + json_string(plan.kernel) + ", \"text\": " + json_string(plan.text) + " }";
        }));
  field("unproven_accesses", list(report.unproven, [](const UnprovenAccess& access) {
          std::string item = "{ \"kernel\": " + json_string(access.kernel);
          append(item, "why", json_string(access.why));
          append_place(item, access.place);
          return item + " }";
        }));
  return text + "\n}\n";
}

std::variant<ExplainReport, ReportFault> read_json_report(std::string_view text) {
  ReportReader reader(text);
  auto parsed = detail::read_json(text, {.bytes = std::size_t{256} << 20, .depth = 64});
  if (const auto* fault = std::get_if<detail::JsonFault>(&parsed)) {
    reader.fail(fault->at, fault->message);
    return reader.fault;
  }
  ExplainReport report;
  if (!reader.read(std::get<JsonValue>(parsed), report)) return reader.fault;
  return report;
}

}  // namespace sarek::policy
