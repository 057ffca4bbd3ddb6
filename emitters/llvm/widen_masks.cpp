// Without mask registers, code generation carries a vector of bits from one basic block to another as bytes, combines such vectors as
// bytes, and packs and unpacks them at each turn. As words of all ones or zeros masks are what comparisons of words give and what blends
// and masked accesses read.
#include "emitters/llvm/widen_masks.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/PatternMatch.h>
#include <llvm/Transforms/Utils/Local.h>

namespace sarek::emit {

namespace {

bool is_mask(const llvm::Value* v) {
  const auto* type = llvm::dyn_cast<llvm::FixedVectorType>(v->getType());
  return type && type->getNumElements() > 1 && type->getElementType()->isIntegerTy(1);
}

llvm::Type* words_of(const llvm::Value* v) {
  return llvm::cast<llvm::VectorType>(v->getType())->getWithNewType(llvm::Type::getInt32Ty(v->getContext()));
}

class Widener {
 public:
  explicit Widener(llvm::Function& function) : function_(function) {}
  void run() {
    widen_between_blocks();
    widen_logic();
  }

 private:
  void widen_between_blocks();
  void widen_logic();
  bool gives_words(llvm::Value* mask) const;
  llvm::Value* words(llvm::IRBuilder<>& b, llvm::Value* mask) const;
  void replace_uses(llvm::Instruction* mask, llvm::Value* words);

  llvm::Function& function_;
  llvm::DenseMap<llvm::Value*, llvm::WeakTrackingVH> words_;  // of masks: what was already made, also when it gives way to other words
};

/// Masks that go from one basic block to another.
void Widener::widen_between_blocks() {
  std::vector<llvm::Instruction*> masks;
  for (llvm::BasicBlock& block : function_)
    for (llvm::Instruction& i : block) {
      if (!is_mask(&i)) continue;
      bool leaves = llvm::isa<llvm::PHINode>(i);
      for (const llvm::User* user : i.users())
        leaves |= llvm::isa<llvm::PHINode>(user) || llvm::cast<llvm::Instruction>(user)->getParent() != &block;
      if (leaves) masks.push_back(&i);
    }
  llvm::DenseMap<llvm::Value*, llvm::Value*> wide;
  for (llvm::Instruction* i : masks) {
    if (auto* phi = llvm::dyn_cast<llvm::PHINode>(i)) {
      wide[i] = llvm::PHINode::Create(words_of(i), phi->getNumIncomingValues(), "mask", phi->getIterator());
    } else {
      llvm::IRBuilder<> after(i->getParent(), std::next(i->getIterator()));
      wide[i] = after.CreateSExt(i, words_of(i), "mask");
    }
  }
  for (llvm::Instruction* i : masks) {
    auto* phi = llvm::dyn_cast<llvm::PHINode>(i);
    if (phi) {
      auto* carrier = llvm::cast<llvm::PHINode>(wide[i]);
      for (unsigned k = 0; k < phi->getNumIncomingValues(); ++k) {
        llvm::Value* in = phi->getIncomingValue(k);
        llvm::Value* word =
            llvm::isa<llvm::Constant>(in) ? llvm::IRBuilder<>(function_.getContext()).CreateSExt(in, words_of(in)) : wide.lookup(in);
        carrier->addIncoming(word, phi->getIncomingBlock(k));
      }
    }
    llvm::DenseMap<llvm::BasicBlock*, llvm::Value*> narrow;  // one comparison a block
    for (llvm::Use& use : llvm::make_early_inc_range(i->uses())) {
      auto* user = llvm::cast<llvm::Instruction>(use.getUser());
      if (llvm::isa<llvm::PHINode>(user)) continue;  // has its own carrier
      if (user == wide[i] || (!phi && user->getParent() == i->getParent())) continue;
      llvm::Value*& mask = narrow[user->getParent()];
      if (!mask) {
        llvm::IRBuilder<> start(user->getParent(), user->getParent()->getFirstInsertionPt());
        mask = start.CreateICmpSLT(wide[i], llvm::Constant::getNullValue(wide[i]->getType()));
        words_[mask] = wide[i];
      }
      use.set(mask);
    }
  }
  for (llvm::Instruction* i : masks)
    if (llvm::isa<llvm::PHINode>(i)) {
      i->replaceAllUsesWith(llvm::PoisonValue::get(i->getType()));  // only other such nodes use it still
      i->eraseFromParent();
    }
}

/// Is the mask words already, or a comparison of words?
bool Widener::gives_words(llvm::Value* mask) const {
  const auto* compare = llvm::dyn_cast<llvm::CmpInst>(mask);
  return words_.count(mask) || (compare && compare->getOperand(0)->getType()->getScalarSizeInBits() == 32);
}

llvm::Value* Widener::words(llvm::IRBuilder<>& b, llvm::Value* mask) const {
  llvm::Value* made = words_.lookup(mask);
  return made ? made : b.CreateSExt(mask, words_of(mask), "mask");
}

/// Masks that are made of masks. Bytes are left alone where no operand is words.
void Widener::widen_logic() {
  std::vector<llvm::Instruction*> masks;
  for (llvm::BasicBlock* block : llvm::ReversePostOrderTraversal<llvm::Function*>(&function_))
    for (llvm::Instruction& i : *block) {
      if (!is_mask(&i)) continue;
      if (words_.count(&i)) masks.push_back(&i);
      if (!i.isBitwiseLogicOp() || (!gives_words(i.getOperand(0)) && !gives_words(i.getOperand(1)))) continue;
      llvm::IRBuilder<> b(&i);
      auto* logic = llvm::cast<llvm::BinaryOperator>(&i);
      words_[&i] = b.CreateBinOp(logic->getOpcode(), words(b, i.getOperand(0)), words(b, i.getOperand(1)), "mask");
      masks.push_back(&i);
    }
  for (llvm::Instruction* mask : masks) replace_uses(mask, words_[mask]);
  llvm::SmallVector<llvm::WeakTrackingVH> dead(masks.begin(), masks.end());
  llvm::RecursivelyDeleteTriviallyDeadInstructionsPermissive(dead);
}

void Widener::replace_uses(llvm::Instruction* mask, llvm::Value* words) {
  const bool is_narrowed = llvm::isa<llvm::CmpInst>(mask);  // asks for the signs of these words, as everything else would
  llvm::Value* narrow = is_narrowed ? mask : nullptr;
  for (llvm::Use& use : llvm::make_early_inc_range(mask->uses())) {
    auto* user = llvm::cast<llvm::Instruction>(use.getUser());
    llvm::IRBuilder<> b(user);
    if (words_.count(user)) continue;  // made of words by now
    if (llvm::isa<llvm::CastInst>(user) && user->getType() == words->getType()) {
      user->replaceAllUsesWith(llvm::isa<llvm::SExtInst>(user) ? words : b.CreateNeg(words));
      continue;
    }
    if (llvm::isa<llvm::BitCastInst>(user)) {
      // Is any lane on? The other questions about the bits are asked of them.
      for (llvm::User* question : llvm::make_early_inc_range(user->users())) {
        auto* compare = llvm::dyn_cast<llvm::ICmpInst>(question);
        if (!compare || !compare->isEquality() || !llvm::PatternMatch::match(compare->getOperand(1), llvm::PatternMatch::m_Zero()))
          continue;
        llvm::IRBuilder<> at(compare);
        compare->replaceAllUsesWith(at.CreateICmp(compare->getPredicate(), at.CreateOrReduce(words), at.getInt32(0)));
      }
      if (user->use_empty()) continue;
    }
    if (is_narrowed) continue;
    if (!narrow) {
      llvm::IRBuilder<> after(mask->getParent(), std::next(mask->getIterator()));
      narrow = after.CreateICmpSLT(words, llvm::Constant::getNullValue(words->getType()));
    }
    use.set(narrow);
  }
}

}  // namespace

void widen_masks(llvm::Function& function) { Widener(function).run(); }

}  // namespace sarek::emit
