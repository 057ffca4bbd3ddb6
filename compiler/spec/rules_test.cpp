// One accepted and one refused node for every rule. The table is the registry: a rule without an entry fails the last test.
#include <catch2/catch_test_macros.hpp>
#include <functional>
#include <map>
#include <set>

#include "compiler/spec/test_graph.h"

using namespace sarek;
using namespace sarek::spec;
using namespace sarek::spec::test;

namespace {

using Make = std::function<NodeId(TestGraph&)>;

struct RuleCase {
  std::string_view id;
  const Spec* spec;
  Make accepted;                     // the specification accepts it, and the rule does not stand in its way
  Make refused;                      // refused_by rejects it, and the rule does not save it
  const Spec* refused_by = nullptr;  // where the rule accepts its op in any form: a specification that lacks the rule
};

NodeId place(TestGraph& t) { return t.index(t.param(Type::F32, 16), t.lit(Type::I32, 0)); }

const std::vector<RuleCase>& cases() {
  static const auto f32 = [](TestGraph& t) { return t.var(Type::F32, 1); };
  static const auto i32 = [](TestGraph& t) { return t.var(Type::I32, 2); };
  static const auto boolean = [](TestGraph& t) { return t.var(Type::Bool, 3); };
  static const std::vector<RuleCase> all = {
      {"S1", &shared(), [](auto& t) { return t.g.make(Op::Sink, {}); }, [](auto& t) { return t.raw(Op::Sink, Type::I32); }},
      {"S2", &shared(), [](auto& t) { return t.g.make(Op::Noop, {}); }, [](auto& t) { return t.g.make(Op::Noop, {}); }, &kernel_graph()},
      {"S3", &shared(), [](auto& t) { return t.weak(1); }, [](auto& t) { return t.raw(Op::Const, Type::I32, {}, ConstValue::of_int(1)); }},
      {"S4", &shared(), [](auto& t) { return t.empty_stack(); }, [](auto& t) { return t.raw(Op::Stack, Type::I32); }},
      {"S5", &shared(), [](auto& t) { return t.stack({t.weak(1), t.var(Type::I32)}); },
       [](auto& t) { return t.stack({t.weak(1), t.param(Type::I32, 4)}); }},
      {"S6", &shared(), [](auto& t) { return t.g.make(Op::Where, {boolean(t), f32(t), f32(t)}); },
       [](auto& t) { return t.g.make(Op::Where, {boolean(t), f32(t), i32(t)}); }},
      {"S7", &shared(), [](auto& t) { return t.g.make(Op::Cmpeq, {f32(t), f32(t)}); },
       [](auto& t) { return t.g.make(Op::Cmpeq, {f32(t), i32(t)}); }},
      {"S8", &shared(), [](auto& t) { return t.g.make(Op::Xor, {i32(t), i32(t)}); },
       [](auto& t) { return t.g.make(Op::Xor, {f32(t), f32(t)}); }},
      {"S9", &shared(), [](auto& t) { return t.g.make(Op::Shr, {i32(t), t.var(Type::U32)}); },
       [](auto& t) { return t.g.make(Op::Shr, {i32(t), t.var(Type::U8)}); }},
      {"S10", &shared(), [](auto& t) { return t.g.make(Op::Floormod, {i32(t), i32(t)}); },
       [](auto& t) { return t.g.make(Op::Floormod, {f32(t), f32(t)}); }},
      {"S12", &shared(), [](auto& t) { return t.g.make(Op::Mulacc, {f32(t), f32(t), f32(t)}); },
       [](auto& t) { return t.g.make(Op::Mulacc, {f32(t), f32(t), t.var(Type::F64)}); }},
      {"S13", &shared(), [](auto& t) { return t.g.make(Op::Cast, {i32(t)}, TypeArg{Type::F32}); },
       [](auto& t) { return t.raw(Op::Cast, Type::F32, {i32(t)}, TypeArg{Type::F64}); }},
      {"S14", &shared(), [](auto& t) { return t.range(i32(t)); },
       [](auto& t) { return t.g.make(Op::Range, {i32(t)}, RangeArg{{}, AxisType::Loop}); }},
      {"S15", &shared(), [](auto& t) { return place(t); }, [](auto& t) { return t.index(t.param(Type::F32, 4), f32(t)); }},
      {"S16", &shared(), [](auto& t) { return t.g.make(Op::End, {t.effect(), t.range(i32(t))}); },
       [](auto& t) { return t.g.make(Op::End, {i32(t), t.range(i32(t))}); }},
      {"S17", &shared(), [](auto& t) { return t.g.make(Op::Backedge, {t.void_value(), t.range(t.void_value()), boolean(t)}); },
       [](auto& t) { return t.g.make(Op::Backedge, {t.void_value(), t.range(i32(t)), boolean(t)}); }},
      {"S18", &shared(), [](auto& t) { return i32(t); }, [](auto& t) { return t.raw(Op::Param, Type::I32, {i32(t)}, ParamArg{}); }},
      {"S19", &shared(), [](auto& t) { return t.storage(Op::Buffer, Type::F32, AddressSpace::Reg, 4); },
       [](auto& t) { return t.storage(Op::Buffer, Type::F32, AddressSpace::Alu, 4); }},
      {"S20", &shared(), [](auto& t) { return t.g.make(Op::Binary, {}, BytesArg{{1, 2}}); },
       [](auto& t) { return t.g.make(Op::Binary, {}); }},
      {"S21", &shared(), [](auto& t) { return t.g.make(Op::Group, {t.effect()}); }, [](auto& t) { return t.g.make(Op::Group, {i32(t)}); }},
      {"S22", &shared(), [](auto& t) { return t.g.make(Op::After, {t.param(Type::F32, 4), t.effect()}); },
       [](auto& t) { return t.g.make(Op::After, {t.g.make(Op::Neg, {i32(t)}), t.effect()}); }},
      {"S23", &shared(), [](auto& t) { return t.g.make(Op::Customi, {i32(t)}, CodeArg{"f", Type::I32}); },
       [](auto& t) { return t.g.make(Op::Custom, {}, CodeArg{"f", Type::Void}); }, &kernel_graph()},
      {"S24", &shared(), [](auto& t) { return t.g.make(Op::CustomFunction, {}, NameArg{"f"}); },
       [](auto& t) { return t.g.make(Op::CustomFunction, {}); }},
      {"S25", &shared(), [](auto& t) { return t.g.make(Op::Call, {t.g.make(Op::Sink, {})}, CallArg{}); },
       [](auto& t) { return t.g.make(Op::Call, {t.g.make(Op::Sink, {})}); }},
      {"S26", &shared(), [](auto& t) { return t.g.make(Op::Barrier, {t.effect()}); },
       [](auto& t) { return t.raw(Op::Barrier, Type::I32); }},
      {"S27", &shared(), [](auto& t) { return t.g.make(Op::Ins, {}, InsArg{Ins::WarpBarrier, Type::Void, {}}); },
       [](auto& t) { return t.raw(Op::Ins, Type::Void); }},
      {"S28", &shared(), [](auto& t) { return t.g.make(Op::Load, {place(t)}); }, [](auto& t) { return t.g.make(Op::Load, {i32(t)}); }},
      {"S29", &shared(), [](auto& t) { return t.g.make(Op::Load, {place(t), f32(t), boolean(t)}); },
       [](auto& t) { return t.g.make(Op::Load, {place(t), i32(t), boolean(t)}); }},
      {"S30", &shared(), [](auto& t) { return t.g.make(Op::Store, {place(t), f32(t)}); },
       [](auto& t) { return t.g.make(Op::Store, {place(t), i32(t)}); }},
      {"S31", &shared(), [](auto& t) { return t.g.make(Op::Store, {place(t), f32(t), boolean(t)}); },
       [](auto& t) { return t.g.make(Op::Store, {place(t), i32(t), boolean(t)}); }},
      {"S32", &shared(), [](auto& t) { return t.g.make(Op::Store, {t.param(Type::F32, 4), f32(t)}); },
       [](auto& t) { return t.g.make(Op::Store, {t.g.make(Op::Neg, {f32(t)}), f32(t)}); }},
      {"S33", &shared(), [](auto& t) { return t.g.make(Op::Wmma, {f32(t), f32(t), f32(t)}, WmmaArg{}); },
       [](auto& t) { return t.g.make(Op::Wmma, {f32(t), f32(t), f32(t)}); }},

      {"T1", &tensor(), [](auto& t) { return t.g.make(Op::Sin, {f32(t)}); }, [](auto& t) { return t.raw(Op::Sin, Type::I32, {i32(t)}); }},
      {"T2", &tensor(), [](auto& t) { return t.storage(Op::Buffer, Type::F32, AddressSpace::Global, 4, {"CPU"}); },
       [](auto& t) { return t.storage(Op::Buffer, Type::F32, AddressSpace::Global, 4); }},
      {"T3", &tensor(), [](auto& t) { return t.storage(Op::Alloc, Type::F32, AddressSpace::Global, 4, {"CPU"}); },
       [](auto& t) { return t.storage(Op::Alloc, Type::F32, AddressSpace::Local, 4, {"CPU"}); }},
      {"T4", &tensor(), [](auto& t) { return t.ranged(Type::I32, 0, 4); },
       [](auto& t) {
         ParamArg p;
         p.type = Type::I32;
         p.range = {0, 4};
         p.devices = {"CPU"};
         return t.g.make(Op::Param, {}, p);
       }},
      {"T5", &tensor(), [](auto& t) { return t.g.make(Op::Special, {t.weak(4)}, NameArg{"gidx0"}); },
       [](auto& t) { return t.g.make(Op::Special, {t.weak(4)}); }},
      {"T6", &tensor(), [](auto& t) { return t.g.make(Op::Expand, {t.param(Type::F32, 4), t.stack({t.weak(4)})}); },
       [](auto& t) { return t.g.make(Op::Expand, {t.param(Type::F32, 4), t.stack({t.weak_float(4)})}); }},
      {"T7", &tensor(), [](auto& t) { return t.g.make(Op::Pad, {t.param(Type::F32, 4), t.weak(1), t.weak(6)}); },
       [](auto& t) { return t.g.make(Op::Pad, {t.param(Type::F32, 4), t.weak(1), t.stack({t.weak(6), t.weak(6)})}); }},
      {"T8", &tensor(), [](auto& t) { return t.g.make(Op::Permute, {t.param(Type::F32, 4)}, AxesArg{{1, 0}}); },
       [](auto& t) { return t.g.make(Op::Permute, {t.param(Type::F32, 4)}, AxesArg{{1, 1}}); }},
      {"T9", &tensor(), [](auto& t) { return t.g.make(Op::Reduce, {f32(t), t.range(t.weak(4))}, ReduceArg{Op::Max, 0, {}}); },
       [](auto& t) { return t.g.make(Op::Reduce, {f32(t), t.range(t.weak(4))}, ReduceArg{Op::Sub, 0, {}}); }},
      {"T10", &tensor(), [](auto& t) { return t.g.make(Op::Copy, {f32(t)}, DeviceArg{{"CPU"}}); },
       [](auto& t) { return t.g.make(Op::Copy, {f32(t)}, DeviceArg{{"disk:/x"}}); }},
      {"T11", &tensor(), [](auto& t) { return t.g.make(Op::Allreduce, {f32(t)}, ReduceArg{Op::Add, 0, {"a", "b"}}); },
       [](auto& t) { return t.g.make(Op::Mselect, {f32(t)}, AxesArg{{0}}); }},
      {"T12", &tensor(), [](auto& t) { return t.g.make(Op::Detach, {f32(t)}); },
       [](auto& t) { return t.raw(Op::Detach, Type::F32, {f32(t)}, NameArg{"x"}); }},
      {"T13", &tensor(), [](auto& t) { return t.g.make(Op::Stage, {f32(t)}, StageArg{}); },
       [](auto& t) { return t.g.make(Op::Stage, {f32(t)}, StageArg{}); }, &spec::program()},
      {"T14", &tensor(), [](auto& t) { return t.g.make(Op::Linear, {}); }, [](auto& t) { return t.raw(Op::Source, Type::I32); }},
      {"T15", &tensor(), [](auto& t) { return t.g.make(Op::Program, {t.g.make(Op::Sink, {})}); },
       [](auto& t) { return t.g.make(Op::Program, {t.g.make(Op::Linear, {})}); }},
      {"T16", &tensor(), [](auto& t) { return t.g.make(Op::Call, {t.g.make(Op::Sink, {})}, CallArg{}); },
       [](auto& t) { return t.g.make(Op::Call, {f32(t)}, CallArg{}); }},

      {"P1", &spec::program(), [](auto& t) { return t.lit(Type::I32, 1); }, [](auto& t) { return t.g.make(Op::Add, {i32(t), t.weak(1)}); }},
      {"P2", &spec::program(), [](auto& t) { return t.g.make(Op::Neg, {i32(t)}); }, [](auto& t) { return t.var(Type::WeakInt); }},
      {"P3", &spec::program(), [](auto& t) { return t.g.make(Op::Shrink, {t.param(Type::F32, 9), i32(t), t.lit(Type::I32, 4)}); },
       [](auto& t) { return t.g.make(Op::Shrink, {place(t), i32(t), t.lit(Type::I32, 4)}); }},
      {"P4", &spec::program(), [](auto& t) { return t.g.make(Op::Neg, {i32(t)}); },
       [](auto& t) { return t.g.make(Op::Flip, {t.param(Type::F32, 9)}, FlipArg{{true}}); }},
      {"P5", &spec::program(), [](auto& t) { return t.storage(Op::Buffer, Type::F32, AddressSpace::Local, 4); },
       [](auto& t) { return t.storage(Op::Buffer, Type::F32, AddressSpace::Global, 4, {"CPU"}); }},
      {"P6", &spec::program(), [](auto& t) { return t.param(Type::F32, 9); },
       [](auto& t) { return t.storage(Op::Param, Type::F32, AddressSpace::Global, 4, {"CPU"}); }},
      {"P7", &spec::program(), [](auto& t) { return t.weak(1); }, [](auto& t) { return t.invalid(); }},
      {"P8", &spec::program(), [](auto& t) { return t.g.make(Op::If, {boolean(t), t.lit(Type::I32, 0)}); },
       [](auto& t) { return t.g.make(Op::If, {i32(t), t.lit(Type::I32, 0)}); }},
      {"P9", &spec::program(), [](auto& t) { return t.g.make(Op::Special, {i32(t)}, NameArg{"group_id.x"}); },
       [](auto& t) { return t.g.make(Op::Special, {t.var(Type::I64)}, NameArg{"group_id.x"}); }},
      {"P10", &spec::program(), [](auto& t) { return t.g.make(Op::Load, {place(t)}); },
       [](auto& t) { return t.g.make(Op::Load, {place(t), f32(t)}); }},

      {"F1", &full(), [](auto& t) { return t.g.make(Op::End, {t.effect(), i32(t)}); },
       [](auto& t) { return t.g.make(Op::End, {t.effect(), f32(t)}); }},
      {"F2", &full(), [](auto& t) { return t.g.make(Op::After, {t.g.make(Op::Neg, {f32(t)}), t.effect()}); },
       [](auto& t) { return t.g.make(Op::After, {t.g.make(Op::Neg, {f32(t)}), t.effect()}); }, &spec::program()},
      {"F3", &full(), [](auto& t) { return t.g.make(Op::Load, {f32(t)}); }, [](auto& t) { return t.g.make(Op::Load, {f32(t)}); },
       &spec::program()},

      {"K1", &kernel_graph(), [](auto& t) { return t.g.make(Op::Sink, {}); }, [](auto& t) { return t.raw(Op::Sink, Type::I32); }},
      {"K2", &kernel_graph(), [](auto& t) { return t.lit(Type::I32, 1); },
       [](auto& t) { return t.g.make(Op::Cast, {f32(t)}, TypeArg{Type::I32}); }},
      {"K3", &kernel_graph(), [](auto& t) { return t.stack({t.weak(1), t.range(t.weak(4))}); },
       [](auto& t) { return t.stack({t.g.make(Op::Neg, {i32(t)})}); }},
      {"K4", &kernel_graph(), [](auto& t) { return f32(t); }, [](auto& t) { return t.raw(Op::Param, Type::F32, {f32(t)}, ParamArg{}); }},
      {"K5", &kernel_graph(), [](auto& t) { return t.storage(Op::Alloc, Type::F32, AddressSpace::Global, 4); },
       [](auto& t) { return t.storage(Op::Alloc, Type::F32, AddressSpace::Local, 4); }},
      {"K6", &kernel_graph(), [](auto& t) { return t.range(t.weak(4)); }, [](auto& t) { return t.range(t.weak(4), AxisType::Upcast); }},
      {"K7", &kernel_graph(),
       [](auto& t) { return t.g.make(Op::End, {t.g.make(Op::Call, {t.g.make(Op::Sink, {})}, CallArg{}), t.range(t.weak(4))}); },
       [](auto& t) { return t.g.make(Op::End, {t.effect(), t.range(t.weak(4))}); }},
      {"K8", &kernel_graph(), [](auto& t) { return t.g.make(Op::Shrink, {t.param(Type::F32, 9), t.range(t.weak(4)), t.weak(2)}); },
       [](auto& t) { return t.g.make(Op::Shrink, {t.param(Type::F32, 9), t.weak(1), t.weak(2)}); }},
      {"K9", &kernel_graph(), [](auto& t) { return t.g.make(Op::Mul, {t.range(t.weak(4)), t.weak(2)}); },
       [](auto& t) { return t.g.make(Op::Mul, {i32(t), i32(t)}); }},
      {"K10", &kernel_graph(), [](auto& t) { return t.g.make(Op::Call, {t.g.make(Op::Sink, {})}, CallArg{}); },
       [](auto& t) { return t.g.make(Op::Call, {f32(t)}, CallArg{}); }},
      {"K11", &kernel_graph(), [](auto& t) { return t.g.make(Op::After, {t.param(Type::F32, 4), t.effect()}); },
       [](auto& t) { return t.g.make(Op::After, {t.g.make(Op::Neg, {f32(t)}), t.effect()}); }},
      {"K12", &kernel_graph(),
       [](auto& t) {
         const NodeId a = t.storage(Op::Buffer, Type::F32, AddressSpace::Global, 4, {"CPU:0"}),
                      b = t.storage(Op::Buffer, Type::F32, AddressSpace::Global, 4, {"CPU:1"});
         return t.g.make(Op::Mstack, {a, b});
       },
       [](auto& t) { return t.g.make(Op::Mstack, {f32(t), i32(t)}); }},
  };
  return all;
}

const Rule& rule(const Spec& spec, std::string_view id) {
  for (const Rule& r : spec.rules())
    if (r.id == id) return r;
  FAIL("the specification has no rule " << id);
  throw 0;
}

}  // namespace

TEST_CASE("every rule lets its node through and refuses another") {
  for (const RuleCase& c : cases()) {
    INFO("rule " << c.id << " of " << c.spec->name());
    const Rule& r = rule(*c.spec, c.id);
    TestGraph t;
    const NodeId good = c.accepted(t);
    const NodeId bad = c.refused(t);
    const Spec::Decision accepted = t.decide(*c.spec, good);
    const Spec::Decision refused = t.decide(c.refused_by ? *c.refused_by : *c.spec, bad);
    CHECK(accepted.accepted);
    CHECK_FALSE(refused.accepted);
    Context context(t.g, {});
    // A rule about an op has a say on it; it never rejects the good node, and never accepts the bad one where it stands.
    if (r.ops.contains(t.g.op(good))) CHECK(r.decide(context, good) != Verdict(false));
    if (!c.refused_by && r.ops.contains(t.g.op(bad)) && has_valid_arity(t.g, bad)) CHECK(r.decide(context, bad) != Verdict(true));
    const bool decides = (accepted.rule && accepted.rule->id == c.id) || (refused.rule && refused.rule->id == c.id);
    CHECK(decides);
  }
}

TEST_CASE("no rule is without a test, and no id stands twice in one list") {
  std::set<std::string_view> tested;
  for (const RuleCase& c : cases()) CHECK(tested.insert(c.id).second);
  std::set<std::string_view> known;
  for (const Spec* s : {&shared(), &tensor(), &spec::program(), &full(), &kernel_graph()}) {
    for (const Rule& r : s->rules()) {
      INFO(r.id);
      CHECK(tested.count(r.id) == 1);
      CHECK_FALSE(r.reason.empty());
      known.insert(r.id);
    }
  }
  CHECK(known == tested);
  for (const Spec* s : {&shared(), &tensor(), &spec::program(), &kernel_graph()}) {
    std::set<std::string_view> once;
    for (const Rule& r : s->rules()) CHECK(once.insert(r.id).second);
  }
}
