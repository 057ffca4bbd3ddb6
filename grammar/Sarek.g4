// The grammar of .sarek files, and the reference for their surface. What each construct means, with examples, stands in language.md.
//
// Every decision in it needs one token of lookahead. That keeps parsing fast, lets an error be reported at the first wrong token, and
// is possible because some things are settled before the parser sees the tokens, by compiler/syntax/filter.cpp:
//
//  * Contextual words. `block`, `step`, `out`, `test` and the other words of the last `tokens` line are ordinary identifiers for the
//    lexer; the filter turns them into keywords only where the grammar has a place for them, so `out` and `step` stay free as names.
//  * Brackets that look like operators. `<` and `>` around type arguments become TEMPLATE_OPEN and TEMPLATE_CLOSE, `<<` and `>>` of a
//    launch become LAUNCH_OPEN and LAUNCH_CLOSE, and the `{` of a record literal becomes RECORD_OPEN. language.md has the rules.
//  * Ends. Before the `}` of a block stands a TAIL of no width unless a `;` is there, and before the `}` of a match a comma: the last
//    expression of a block is its value, and every statement still ends in a token of its own. An `else` that follows no `if` block
//    becomes STRAY_ELSE.
//
// Precedence. Binary operators stand in one flat list (`expr`), not in a ladder of rules: the tree builder groups them by the table
// below, which also lets it refuse what C programmers get wrong. Highest first; all left-associative:
//
//     * / % @      + -      << >>      &      ^      |      == != < <= > >=      &&      ||
//
// Comparisons do not chain (`a < b < c`) and do not mix with bare & ^ | (`a & b == c`): parentheses are required.
// Prefix operators bind tighter than `as`, and `as` tighter than any binary operator.
//
// Lists are written `x (',' x?)*`: one token of lookahead and a trailing comma. The builder refuses two commas in a row.
// `stray` collects tokens that can begin nothing, so that one of them costs one message and not the rest of the block.
grammar Sarek;

tokens { TEMPLATE_OPEN, TEMPLATE_CLOSE, LAUNCH_NAME, LAUNCH_OPEN, LAUNCH_CLOSE, RECORD_OPEN, TAIL, STRAY_ELSE,
         BLOCK, WIDE, STEP, DIVERGENT, OUT, INOUT, PIPELINE, GRAPH, TEST, EXPECT, SAME, ERROR, TENSOR }

// --- items ---------------------------------------------------------------------------------------------------------------------------

file : (item | strayItem)* EOF ;

item : importItem | constItem | structItem | enumItem | functionItem | kernelItem | pipelineItem | graphItem | testItem ;

importItem : IMPORT STRING (AS IDENT)? SEMI ;

constItem : CONST IDENT (COLON type)? ASSIGN expr end ;

structItem : STRUCT IDENT typeParams? LBRACE (field (COMMA field?)*)? RBRACE ;
field : IDENT COLON type ;

enumItem : ENUM IDENT typeParams? LBRACE (variant (COMMA variant?)*)? RBRACE ;
variant : IDENT (LPAREN type (COMMA type?)* RPAREN)? ;

typeParams : TEMPLATE_OPEN typeParam (COMMA typeParam?)* TEMPLATE_CLOSE ;
typeParam : IDENT (COLON IDENT)? ;

functionItem : (inlineMark | unrollMark)* FN IDENT typeParams? params (ARROW type)? block ;
inlineMark : INLINE LPAREN expr RPAREN ;
unrollMark : UNROLL (LPAREN expr RPAREN)? ;

params : LPAREN (param (COMMA param?)*)? RPAREN ;
param : IDENT COLON (IN | OUT | INOUT)? type ;

// The result type is accepted here only to be refused with a better message.
kernelItem : KERNEL IDENT params (ARROW type)? (BLOCK LPAREN expr (COMMA expr?)* RPAREN)? WIDE? block ;

pipelineItem : PIPELINE IDENT params block ;

graphItem : GRAPH IDENT params ARROW type block ;

testItem : TEST IDENT FOR IDENT LBRACE testStatement* RBRACE ;
testStatement
  : LET IDENT ASSIGN expr SEMI
  | EXPECT (SAME AS IDENT | ERROR STRING | IDENT ASSIGN expr) SEMI
  | (IDENT | SHARED) (LPAREN (expr (COMMA expr?)*)? RPAREN | ASSIGN expr) SEMI
  ;

// --- types ---------------------------------------------------------------------------------------------------------------------------

type
  : IDENT (DOT IDENT)? typeArgs?
  | LBRACKET type (SEMI (DYN | expr (COMMA expr?)*))? RBRACKET
  | LPAREN (type (COMMA type?)*)? RPAREN
  | TENSOR TEMPLATE_OPEN type TEMPLATE_CLOSE LBRACKET expr (COMMA expr?)* RBRACKET
  ;
typeArgs : TEMPLATE_OPEN typeArg (COMMA typeArg?)* TEMPLATE_CLOSE ;
typeArg : type | INT ;

// --- statements ----------------------------------------------------------------------------------------------------------------------

block : LBRACE (statement | stray)* RBRACE ;

statement
  : letStatement
  | constItem
  | sharedStatement
  | loopStatement
  | jumpStatement
  | superstepStatement
  | launchStatement
  | blockLike
  | exprStatement
  | end
  ;

letStatement : (LET | VAR) pattern (COLON type)? (ASSIGN expr)? end ;

sharedStatement : SHARED IDENT COLON type end ;

loopStatement : unrollMark? (forLoop | WHILE expr block | LOOP block) ;
// Without `..`, the expression must be a list `[a, b, c]`.
forLoop : FOR IDENT (COLON type)? IN expr ((RANGE | RANGE_EQ) expr (STEP expr)?)? block ;

// A TAIL is right after a value and after a jump; elsewhere the builder says where the `;` belongs.
end : SEMI | TAIL ;

jumpStatement : BREAK end | CONTINUE end | RETURN expr? end ;
exprStatement : statementExpr (assignOp expr)? end ;
assignOp : ASSIGN | PLUS_EQ | MINUS_EQ | STAR_EQ | SLASH_EQ | PERCENT_EQ | AMP_EQ | BAR_EQ | CARET_EQ | SHL_EQ | SHR_EQ ;

superstepStatement : SUPERSTEP IDENT DIVERGENT? block ;

launchStatement : LAUNCH_NAME (DOT IDENT)? LAUNCH_OPEN expr (COMMA expr?)* (SEMI expr)? LAUNCH_CLOSE LPAREN (expr (COMMA expr?)*)? RPAREN end ;

// --- expressions ---------------------------------------------------------------------------------------------------------------------

expr : operand (binaryOp operand)* ;
operand : (MINUS | BANG | TILDE)* (primary | blockLike) suffix* (AS type)* ;

// An expression that starts a statement: an `if`, `match` or block there is a statement of its own, so that `if c { } -x` is two.
statementExpr : statementOperand (binaryOp operand)* ;
statementOperand
  : (MINUS | BANG | TILDE)+ (primary | blockLike) suffix* (AS type)*
  | primary suffix* (AS type)*
  ;

binaryOp
  : STAR | SLASH | PERCENT | AT | PLUS | MINUS | SHL | SHR | AMP | CARET | BAR
  | EQ | NE | LT | LE | GT | GE | AND | OR
  ;

primary
  : INT | FLOAT | TRUE | FALSE | IDENT
  | LPAREN (expr (COMMA expr?)*)? RPAREN
  | LBRACKET (expr (SEMI expr | (COMMA expr?)*))? RBRACKET
  ;

// Type arguments are followed by a call, a record literal or `.name`; the builder checks it.
suffix
  : LPAREN (expr (COMMA expr?)*)? RPAREN
  | LBRACKET expr (COMMA expr?)* RBRACKET
  | DOT (IDENT | INT)
  | typeArgs
  | RECORD_OPEN recordPart (COMMA recordPart?)* RBRACE
  ;
recordPart : IDENT COLON expr | RANGE expr ;

blockLike : ifExpr | matchExpr | nativeExpr | block ;

// At most one plain `else`, and only at the end: checked by the builder.
ifExpr : IF expr block (ELSE (IF expr block | block))* ;

matchExpr : MATCH expr LBRACE matchArm* RBRACE ;
// The comma may be missing after a body in braces.
matchArm : pattern (IF expr)? FAT_ARROW (blockLike COMMA? | statementExpr COMMA) ;

nativeExpr : NATIVE LBRACE (nativeText (COMMA nativeText?)*)? RBRACE ELSE block ;
nativeText : IDENT COLON STRING ;

// --- patterns ------------------------------------------------------------------------------------------------------------------------

pattern : patternAtom (BAR patternAtom)* ;
patternAtom
  : IDENT (DOT IDENT)? (LPAREN (pattern (COMMA pattern?)*)? RPAREN)?
  | MINUS? (INT | FLOAT)
  | TRUE
  | FALSE
  | LPAREN (pattern (COMMA pattern?)*)? RPAREN
  ;

// --- tokens that begin nothing -------------------------------------------------------------------------------------------------------

strayItem : ~(IMPORT | CONST | STRUCT | ENUM | INLINE | UNROLL | FN | KERNEL | PIPELINE | GRAPH | TEST) ;

stray
  : RPAREN | RBRACKET | COMMA | COLON | DOT | ARROW | FAT_ARROW | RANGE | RANGE_EQ | ASSIGN | PLUS_EQ | MINUS_EQ | STAR_EQ | SLASH_EQ
  | PERCENT_EQ | AMP_EQ | BAR_EQ | CARET_EQ | SHL_EQ | SHR_EQ | STAR | SLASH | PERCENT | AT | PLUS | SHL | SHR | AMP | CARET | BAR | EQ
  | NE | LT | LE | GT | GE | AND | OR | STRAY_ELSE | IN | AS | DYN | STRING | TEMPLATE_OPEN | TEMPLATE_CLOSE | LAUNCH_OPEN | LAUNCH_CLOSE
  | RECORD_OPEN | BLOCK | WIDE | STEP | DIVERGENT | OUT | INOUT | EXPECT | SAME | ERROR | TENSOR
  ;

// --- lexer ---------------------------------------------------------------------------------------------------------------------------
// The input is bytes. Bytes above 0x7f occur in comments and strings only; the driver has checked that the file is UTF-8.

IMPORT : 'import' ;
CONST : 'const' ;
STRUCT : 'struct' ;
ENUM : 'enum' ;
FN : 'fn' ;
KERNEL : 'kernel' ;
INLINE : 'inline' ;
UNROLL : 'unroll' ;
NATIVE : 'native' ;
LET : 'let' ;
VAR : 'var' ;
SHARED : 'shared' ;
SUPERSTEP : 'superstep' ;
IF : 'if' ;
ELSE : 'else' ;
MATCH : 'match' ;
FOR : 'for' ;
IN : 'in' ;
WHILE : 'while' ;
LOOP : 'loop' ;
BREAK : 'break' ;
CONTINUE : 'continue' ;
RETURN : 'return' ;
AS : 'as' ;
DYN : 'dyn' ;
TRUE : 'true' ;
FALSE : 'false' ;

LPAREN : '(' ;
RPAREN : ')' ;
LBRACKET : '[' ;
RBRACKET : ']' ;
LBRACE : '{' ;
RBRACE : '}' ;
COMMA : ',' ;
SEMI : ';' ;
COLON : ':' ;
DOT : '.' ;
RANGE : '..' ;
RANGE_EQ : '..=' ;
ARROW : '->' ;
FAT_ARROW : '=>' ;
ASSIGN : '=' ;
PLUS_EQ : '+=' ;
MINUS_EQ : '-=' ;
STAR_EQ : '*=' ;
SLASH_EQ : '/=' ;
PERCENT_EQ : '%=' ;
AMP_EQ : '&=' ;
BAR_EQ : '|=' ;
CARET_EQ : '^=' ;
SHL_EQ : '<<=' ;
SHR_EQ : '>>=' ;
STAR : '*' ;
SLASH : '/' ;
PERCENT : '%' ;
AT : '@' ;
PLUS : '+' ;
MINUS : '-' ;
SHL : '<<' ;
SHR : '>>' ;
AMP : '&' ;
CARET : '^' ;
BAR : '|' ;
EQ : '==' ;
NE : '!=' ;
LT : '<' ;
LE : '<=' ;
GT : '>' ;
GE : '>=' ;
AND : '&&' ;
OR : '||' ;
BANG : '!' ;
TILDE : '~' ;

INT : (DIGITS | '0x' '_'? HEX_DIGITS | '0b' '_'? [01] [01_]*) ('_'? INT_SUFFIX)? ;
FLOAT
  : (DIGITS '.' DIGITS EXPONENT? | DIGITS EXPONENT) ('_'? FLOAT_SUFFIX)?
  | DIGITS '_'? FLOAT_SUFFIX
  | '0x' HEX_DIGITS ('.' HEX_DIGITS)? [pP] [+-]? [0-9]+ ('_'? FLOAT_SUFFIX)?
  | ('inf' | 'nan') ('_' FLOAT_SUFFIX)?
  ;
// Anything else that starts like a number: one token, one message.
BAD_NUMBER : [0-9] [0-9A-Za-z_]* ('.' [0-9] [0-9A-Za-z_]*)? ;

IDENT : [A-Za-z_] [A-Za-z0-9_]* ;

STRING : '"""' .*? '"""' | '"' (~["\\\r\n] | '\\' ~[\r\n])* '"' ;
UNTERMINATED_STRING : '"' (~["\\\r\n] | '\\' ~[\r\n])* ;

LINE_COMMENT : '//' ~[\r\n]* -> channel(HIDDEN) ;
BLOCK_COMMENT : '/*' .*? '*/' -> channel(HIDDEN) ;
// As long as it can be, so that what a comment swallows is read once; a comment with its end is one longer and wins.
UNTERMINATED_COMMENT : '/*' (~'*' | '*'+ ~[*/])* '*'* ;
SPACE : [ \t\r\n\f]+ -> skip ;

// One character that no token starts with.
BAD_CHARACTER : . ;

fragment DIGITS : [0-9] [0-9_]* ;
fragment HEX_DIGITS : [0-9A-Fa-f] [0-9A-Fa-f_]* ;
fragment EXPONENT : [eE] [+-]? [0-9] [0-9_]* ;
fragment INT_SUFFIX : [iu] ('8' | '16' | '32' | '64') ;
fragment FLOAT_SUFFIX : 'f16' | 'bf16' | 'f32' | 'f64' ;
