// The grammar of KDL. It says what may stand where and nothing else: what depends on meaning is left
// to the builder of the tree (src/syntax) and to semantic analysis.
parser grammar KdlParser;

options {
    tokenVocab = KdlLexer;
}

module : item* EOF ;

// ---- Items

item : EXPORT? (importItem | constItem | typesItem | deviceItem | testItem | functionItem) ;

importItem : IMPORT name (DOT name)* SEMI ;

constItem : CONST name (COLON type)? ASSIGN expr SEMI ;

typesItem : TYPES name ASSIGN typeNames SEMI ;

deviceItem : DEVICE name (ASSIGN expr)? SEMI ;

testItem : TEST STRING block ;

functionItem
    : (FN | KERNEL | PROGRAM) name genericParams? LPAREN (param (COMMA param)*)? RPAREN
      (ARROW type)? whereClause? attribute* block contract*
    ;

genericParams : LT genericParam (COMMA genericParam)* GT ;

genericParam : name COLON (typeNames | functionType) choices? (ASSIGN arith)? ;

functionType : FN LPAREN (type (COMMA type)*)? RPAREN ARROW type ;

choices : IN LBRACE expr (COMMA expr)* RBRACE ;

param : name COLON direction? strides? type QUESTION? placement? ;

strides : STRIDED | BROADCAST ;

direction : IN | OUT | INOUT | PUSH | POP ;

placement : ON name (BY LPAREN distributed (COMMA distributed)* RPAREN)? ;

distributed : expr (COLON expr)? ;

whereClause : WHERE expr (COMMA expr)* ;

contract : requirements | guarantees ;

requirements : REQUIRES LBRACE (expr SEMI)* RBRACE ;

guarantees : ENSURES LBRACE (equation SEMI)* RBRACE ;

equation : arith (ASSIGN expr | EQ selection | TILDE tolerance? (selection | expr)) ;

selection : LBRACK expr (WHERE expr)? OVER name (COMMA name)* RBRACK ;

tolerance : LPAREN tolerancePart (COMMA tolerancePart)* RPAREN ;

tolerancePart : name ASSIGN expr ;

// ---- Statements

block : LBRACE stmt* RBRACE ;

stmt
    : block
    | fuseStmt
    | letStmt
    | simpleStmt
    | combineStmt
    | appendStmt
    | launchStmt
    | ifStmt
    | forStmt
    | whileStmt
    | jumpStmt
    | returnStmt
    | syncStmt
    | rangeStmt
    | domainStmt
    | pipeStmt
    | stageStmt
    | viewStmt
    | expectStmt
    ;

fuseStmt : FUSE block ;

letStmt : (LET | VAR) name (COLON type)? placement? (ASSIGN expr)? attribute* SEMI ;

// An assignment or a call; the builder says which left sides and which expressions those are.
simpleStmt : primary suffix* (assignOp expr condition?)? attribute* SEMI ;

combineStmt : (ATOMIC | REDUCE) target assignOp expr condition? attribute* SEMI ;

appendStmt
    : APPEND target (COMMA target)* PLUS_ASSIGN expr (COMMA expr)* condition? attribute* SEMI
    ;

target : name (LBRACK indices? RBRACK)? ;

assignOp
    : ASSIGN | PLUS_ASSIGN | MINUS_ASSIGN | STAR_ASSIGN | SLASH_ASSIGN | PERCENT_ASSIGN
    | AMP_ASSIGN | BAR_ASSIGN | CARET_ASSIGN | (MAX | MIN) ASSIGN
    ;

condition : WHERE expr ;

launchStmt
    : SPMD callArgs? launchDevice? name (DOT name)* genericArgs? callArgs attribute* SEMI
    ;

launchDevice : ON name (DOT name callArgs)? ;

ifStmt : IF ifCondition block (ELSE IF ifCondition block)* (ELSE block)? ;

forStmt : SPMD? FOR (binder (COMMA binder)* | domainBinders) attribute* block ;

binder : name IN extent ;

domainBinders : name (COMMA name)+ IN name ;

extent : (expr (DOTDOT expr)? | pack) (BY expr)? (STEP expr)? ;

pack : name DOTDOT ;

whileStmt : WHILE expr attribute* block ;

jumpStmt : (BREAK | CONTINUE) SEMI ;

returnStmt : RETURN expr? SEMI ;

syncStmt : SYNC SEMI ;

rangeStmt : RANGE name (IN expr (MAX expr)? | OVER expr (IN expr)?) SEMI ;

domainStmt : DOMAIN name ASSIGN LPAREN extent (COMMA extent)* RPAREN SEMI ;

pipeStmt : PIPE name COLON type attribute* SEMI ;

stageStmt : STAGE name attribute* block ;

viewStmt : VIEW name COLON type ASSIGN expr SEMI ;

expectStmt : EXPECT expr ((ASSIGN | TILDE tolerance?) expr)? SEMI ;

attribute : AT name callArgs? ;

// ---- Types

typeNames : typeName (BAR typeName)* ;

typeName : name (DOT name)? ;

typeTest : typeName IS typeNames ;

type : typeName (LBRACK (dim (COMMA dim)*)? RBRACK)? | LPAREN type (COMMA type)+ RPAREN ;

dim : expr | pack ;

// ---- Expressions

expr : IF ifCondition THEN expr ELSE expr | operation (TO name)? ;

ifCondition : expr | typeTest ;

// Tightest first. Comparisons do not chain: the builder refuses that, with advice.
operation
    : operation (STAR | SLASH | PERCENT) operation
    | operation (PLUS | MINUS) operation
    | operation (SHL | SHR) operation
    | operation AMP operation
    | operation CARET operation
    | operation BAR operation
    | operation (EQ | NE | LT | LE | GT | GE) operation
    | operation ANDAND operation
    | operation OROR operation
    | operand
    ;

// Where a `>` or `=` ends the expression.
arith
    : arith (STAR | SLASH | PERCENT) arith
    | arith (PLUS | MINUS) arith
    | operand
    ;

// Suffixes bind tighter than casts, casts tighter than prefixes.
operand : (MINUS | NOT | TILDE)* primary suffix* (AS typeName)* ;

primary
    : name
    | name genericArgs? callArgs
    | INT | FLOAT | INF_WORD | NAN_WORD | TRUE | FALSE | AUTO | STRING
    | LPAREN expr (COMMA expr)* RPAREN
    | LBRACK (expr (COMMA expr)*)? RBRACK
    ;

suffix
    : LBRACK indices? RBRACK
    | DOT name
    | DOT name genericArgs? callArgs
    | DOT (INT | FLOAT)
    ;

genericArgs : LT genericArg (COMMA genericArg)* GT ;

genericArg : name ASSIGN arith ;

callArgs : LPAREN (arg (COMMA arg)* over?)? RPAREN ;

arg : (name ASSIGN)? expr ;

over : OVER name (COMMA name)* (REVERSED | EXCLUSIVE)* combine? ;

combine : WITH name (DOT name)* INIT expr ;

indices : index (COMMA index)* (ELSE expr)? ;

index : (name ASSIGN)? expr (DOTDOT expr)? ;

name
    : IDENT | RANGE | STAGE | DOMAIN | PIPE | DEVICE | TEST | BY | STEP | OVER | REVERSED
    | EXCLUSIVE | WITH | INIT | ON | TO | VIEW | MAX | MIN | REDUCE | EXPECT | WHERE | REQUIRES
    | ENSURES | PUSH | POP | FUSE | TYPES | IS | STRIDED | BROADCAST | APPEND
    ;
