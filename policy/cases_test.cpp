// Worked cases: refusals, fused names, decisions, the environment, reporting, narrowing, the vocabulary.
#include <catch2/catch_test_macros.hpp>

#include "policy/event_text.h"
#include "policy/store.h"

namespace sarek::policy {
namespace {

const Grant contraction = Deviation::cross_kernel_contraction();

TEST_CASE("case 67: blank reasons and the default kernel name are refused and record nothing") {
  Store store;
  for (const char* blank : {"", "  \t\n", "\xC2\xA0\xE3\x80\x80"})
    REQUIRE(store.grant(Scope::process(), contraction, blank) == Refusal::BlankReason);
  REQUIRE(store.grant(Scope::kernel("sarek_kern"), contraction, "why") == Refusal::DefaultKernelName);
  REQUIRE(store.grant(Scope::kernel("sarek_kern"), contraction, " ") == Refusal::BlankReason);
  REQUIRE(store.version() == 0);
  REQUIRE(store.budget({"sarek_kern"}).grants().empty());
  REQUIRE(!store.grant(Scope::kernel(""), contraction, "an empty name is a name"));
  REQUIRE(store.version() == 1);
  REQUIRE(Budget().add(contraction, " ") == Refusal::BlankReason);
}

TEST_CASE("case 68: a fused kernel holds what all of its members hold, and no grant of its own") {
  Store store;
  store.register_fused("fused", {"a", "b"});
  REQUIRE(!store.grant(Scope::kernel("a"), contraction, "for a"));
  REQUIRE(!store.budget({"fused"}).contains(contraction));
  REQUIRE(!store.grant(Scope::kernel("b"), contraction, "for b"));
  REQUIRE(store.budget({"fused"}).reason(contraction) == "for a; for b");

  const Grant own = Deviation::single_rounding();
  REQUIRE(!store.grant(Scope::kernel("fused"), own, "never matched"));
  REQUIRE(!store.budget({"fused"}).contains(own));
  REQUIRE(!store.reason("fused", own));
  std::vector<Event> heard;
  store.set_reporter([&](const Event& event) { heard.push_back(event); });
  const Record record{"fused", "Vulkan", Optimisation::EpilogueFusion, Refused{"x"}};
  store.report(record);
  store.report(record);
  REQUIRE(heard == std::vector<Event>{record, IgnoredGrant{"fused", own, Ignored::GeneratedName}});
}

TEST_CASE("case 69: a fused name that contains itself holds nothing") {
  Store store;
  REQUIRE(!store.grant(Scope::process(), contraction, "everywhere"));
  store.register_fused("f", {"f", "a"});
  REQUIRE(store.budget({"f"}).grants().empty());
}

TEST_CASE("case 70: epilogue decisions") {
  Store store;
  const auto say = [&](const char* backend) {
    return decision_text(store.decide(store.effective("k"), Optimisation::EpilogueFusion, backend));
  };
  REQUIRE(say("Vulkan") == "refused \"no grant cross-kernel-contraction (kernel or process)\"");
  REQUIRE(say("HIP") == "applied exact");
  REQUIRE(say("Native") == "refused \"not on Native\"");
  REQUIRE(!store.grant(Scope::kernel("k"), contraction, "signed off"));
  REQUIRE(say("Vulkan") == "applied granted cross-kernel-contraction \"signed off\"");
  store.restrict(Optimisation::EpilogueFusion);
  for (const char* backend : {"Vulkan", "HIP", "Native"}) REQUIRE(say(backend) == "refused \"disabled (SAREK_OPT_DISABLE)\"");
}

TEST_CASE("case 71: the environment takes away and never gives") {
  Store store({Environment::parse("window,operand-rounding-bf16", std::nullopt), Frameworks::defaults()});
  REQUIRE(store.restricted(Optimisation::LaunchWindow));
  REQUIRE(!store.restricted(Optimisation::MatrixRewrite));
  const Grant bf16 = Deviation::operand_rounding(OperandPrecision::Bf16);
  REQUIRE(!store.grant(Scope::kernel("gemm"), bf16, "accepted"));
  REQUIRE(store.version() == 1);
  REQUIRE(store.revoked(bf16));
  REQUIRE(!store.reason("gemm", bf16));
  const Decision decision = store.decide_needing(store.effective("gemm"), Optimisation::MatrixRewrite, {bf16});
  REQUIRE(decision_text(decision) == "refused \"grant operand-rounding-bf16 revoked (SAREK_OPT_DISABLE)\"");
  REQUIRE(missing_grants(decision).empty());

  std::vector<std::string> heard;
  REQUIRE(!store.grant(Scope::process(), bf16, "everywhere"));
  store.set_reporter([&](const Event& event) { heard.push_back(event_text(event)); });
  store.report({"gemm", "CUDA:0", Optimisation::MatrixRewrite, decision});
  store.report({"other", "CUDA:0", Optimisation::MatrixRewrite, decision});
  REQUIRE(heard == std::vector<std::string>{
                       "gemm CUDA:0 matrix refused \"grant operand-rounding-bf16 revoked (SAREK_OPT_DISABLE)\"",
                       "gemm grant operand-rounding-bf16 ignored \"revoked (SAREK_OPT_DISABLE)\"",
                       "(process) grant operand-rounding-bf16 ignored \"revoked (SAREK_OPT_DISABLE)\"",
                       "other CUDA:0 matrix refused \"grant operand-rounding-bf16 revoked (SAREK_OPT_DISABLE)\"",
                   });
}

TEST_CASE("case 72: identical reports are one event, A B A are two") {
  Store store;
  int heard = 0;
  store.set_reporter([&](const Event&) { ++heard; });
  const Record a{"k", "Vulkan:0", Optimisation::LaunchWindow, Applied{ExactByConstruction{}}};
  Record b = a;
  b.decision = Refused{std::string(disabled_reason)};
  store.report(a);
  store.report(a);
  REQUIRE(heard == 1);
  store.report(b);
  store.report(a);
  REQUIRE(heard == 2);
}

TEST_CASE("a listener may report and replace itself") {
  Store store;
  int heard = 0;
  store.set_reporter([&](const Event&) {
    ++heard;
    store.report({"inner", "Native", Optimisation::AutoUnroll, Applied{ExactByConstruction{}}});
    if (heard == 2) store.set_reporter({});
  });
  store.report({"outer", "Native", Optimisation::AutoUnroll, Applied{ExactByConstruction{}}});
  REQUIRE(heard == 2);
  REQUIRE(!store.reporting());
}

TEST_CASE("narrowing is applied on a proof or on the grant, and refused otherwise") {
  Store store;
  const auto say = [&](std::optional<std::string> proof) {
    return decision_text(store.decide_narrowing(store.effective("k"), std::move(proof)));
  };
  REQUIRE(say(std::nullopt) == "refused \"no grant single-rounding (kernel or process)\"");
  REQUIRE(say("every value is a small integer") == "applied proof \"every value is a small integer\"");
  REQUIRE(!store.grant(Scope::kernel("k"), Deviation::single_rounding(), "audio"));
  REQUIRE(say(std::nullopt) == "applied granted single-rounding \"audio\"");
  store.restrict(Optimisation::NarrowingProof);
  REQUIRE(say("every value is a small integer") == "refused \"disabled (SAREK_OPT_DISABLE)\"");
}

TEST_CASE("several needed grants: the first missing one is named, reasons are joined once each, the lowering is kept") {
  Store store;
  const GrantSet needed{Consent::AutomaticFloatRewrite, Deviation::accumulation_order(),
                        Deviation::operand_rounding(OperandPrecision::F16)};
  const auto say = [&] {
    return decision_text(store.decide_needing(store.effective("k"), Optimisation::MatrixRewrite, needed, "16x16x16 f16"));
  };
  REQUIRE(say() == "refused \"no grant accumulation-order (kernel or process)\"");
  REQUIRE(!store.grant(Scope::process(), Deviation::accumulation_order(), "fast"));
  REQUIRE(say() == "refused \"no grant operand-rounding-f16 (kernel or process)\"");
  REQUIRE(!store.grant(Scope::kernel("k"), Deviation::operand_rounding(OperandPrecision::F16), "fast"));
  REQUIRE(!store.grant(Scope::kernel("k"), Consent::AutomaticFloatRewrite, "yes"));
  REQUIRE(say() == "applied granted accumulation-order,operand-rounding-f16,automatic-float-rewrite \"fast; yes\" \"16x16x16 f16\"");
}

TEST_CASE("a framework that forbids contraction is exact, and one that the user lets defer is offered") {
  Frameworks frameworks = Frameworks::defaults();
  frameworks.declare("Vulkan", Contraction::Forbidden)
      .declare("Native", Contraction::Forbidden)
      .declare("Interpreter", Contraction::Possible)
      .withdraw("HIP");
  const Store store({{}, frameworks});
  REQUIRE(store.requires_grants(Optimisation::EpilogueFusion, "Vulkan") == GrantSet{});
  REQUIRE(store.requires_grants(Optimisation::EpilogueFusion, "Native") == GrantSet{});
  REQUIRE(store.requires_grants(Optimisation::EpilogueFusion, "Interpreter") == GrantSet{contraction});
  REQUIRE(!store.requires_grants(Optimisation::EpilogueFusion, "HIP"));
  for (Optimisation optimisation :
       {Optimisation::LaunchWindow, Optimisation::MatrixRewrite, Optimisation::NarrowingProof, Optimisation::AutoUnroll})
    REQUIRE(store.requires_grants(optimisation, "anything") == GrantSet{});
}

TEST_CASE("the environment's parser") {
  const Environment none = Environment::parse(std::nullopt, std::nullopt);
  REQUIRE(none == Environment{});
  const Environment some = Environment::parse(" Window;;narrowing-proof,\tSINGLE-rounding windw bogus,windw", "1");
  REQUIRE(some.disabled == OptimisationSet{Optimisation::LaunchWindow, Optimisation::NarrowingProof});
  REQUIRE(some.revoked == GrantSet{Deviation::single_rounding()});
  REQUIRE(some.explain);
  REQUIRE(some.unknown == std::vector<std::string>{"windw", "bogus"});
  REQUIRE(unknown_item_message("windw") ==
          "SAREK_OPT_DISABLE names no optimisation or grant \"windw\", which is ignored; did you mean `window`?");
  REQUIRE(unknown_item_message("quite-something-else") ==
          "SAREK_OPT_DISABLE names no optimisation or grant \"quite-something-else\", which is ignored");
  const Environment all = Environment::parse("ALL", "0");
  REQUIRE(all.disabled.size() == optimisation_count);
  REQUIRE(all.revoked.size() == Grant::count);
  for (const char* value : {"", "0", "true", " 1", "11"}) REQUIRE(!Environment::parse("", value).explain);
}

TEST_CASE("names and orders are stable") {
  std::string grants;
  for (Grant grant : all_grants()) grants += std::string(grant_name(grant)) + " ";
  REQUIRE(grants ==
          "accumulation-order operand-rounding-f16 operand-rounding-bf16 operand-rounding-bf16x3 single-rounding cross-kernel-contraction "
          "automatic-float-rewrite ");
  std::string optimisations;
  for (Optimisation optimisation : all_optimisations()) optimisations += std::string(optimisation_name(optimisation)) + " ";
  REQUIRE(optimisations == "window epilogue matrix narrowing-proof unroll ");
  for (Grant grant : all_grants()) REQUIRE(grant_by_name(grant_name(grant)) == grant);
  for (Optimisation optimisation : all_optimisations()) REQUIRE(optimisation_by_name(optimisation_name(optimisation)) == optimisation);
  REQUIRE(!grant_by_name("fast-math"));
  REQUIRE(join_reasons({"b", "a", "b", "c", "a"}) == "b; a; c");
}

TEST_CASE("event lines stay one line whatever the names hold") {
  const Event event = Record{"two words", "Vulkan:0", Optimisation::MatrixRewrite,
                             Applied{Granted{{Deviation::accumulation_order()}, "he said \"yes\"\nand left", "tile \x01"}}};
  REQUIRE(explain_line(event) ==
          "[sarek] \"two words\" Vulkan:0 matrix applied granted accumulation-order \"he said \\\"yes\\\"\\nand left\" \"tile \\x01\"");
}

}  // namespace
}  // namespace sarek::policy
