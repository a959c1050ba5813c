// The words of KDL. The lexer reads bytes, so that positions are byte offsets; text outside ASCII
// stands in comments and strings only. No input is a lexer error: what is no word of the language
// becomes one of the tokens at the end, which src/syntax reports.
lexer grammar KdlLexer;

// Hard words.
IMPORT : 'import' ;
CONST : 'const' ;
EXPORT : 'export' ;
KERNEL : 'kernel' ;
PROGRAM : 'program' ;
FN : 'fn' ;
LET : 'let' ;
VAR : 'var' ;
IF : 'if' ;
THEN : 'then' ;
ELSE : 'else' ;
FOR : 'for' ;
WHILE : 'while' ;
SPMD : 'spmd' ;
SYNC : 'sync' ;
BREAK : 'break' ;
CONTINUE : 'continue' ;
RETURN : 'return' ;
ATOMIC : 'atomic' ;
AS : 'as' ;
IN : 'in' ;
OUT : 'out' ;
INOUT : 'inout' ;
AUTO : 'auto' ;
INF_WORD : 'inf' ;
NAN_WORD : 'nan' ;
TRUE : 'true' ;
FALSE : 'false' ;

// Soft words: KdlParser's rule `name` takes them as names.
RANGE : 'range' ;
STAGE : 'stage' ;
DOMAIN : 'domain' ;
PIPE : 'pipe' ;
DEVICE : 'device' ;
TEST : 'test' ;
BY : 'by' ;
STEP : 'step' ;
OVER : 'over' ;
REVERSED : 'reversed' ;
EXCLUSIVE : 'exclusive' ;
WITH : 'with' ;
INIT : 'init' ;
ON : 'on' ;
TO : 'to' ;
VIEW : 'view' ;
MAX : 'max' ;
MIN : 'min' ;
REDUCE : 'reduce' ;
EXPECT : 'expect' ;
WHERE : 'where' ;
REQUIRES : 'requires' ;
ENSURES : 'ensures' ;
PUSH : 'push' ;
POP : 'pop' ;
FUSE : 'fuse' ;
TYPES : 'types' ;
IS : 'is' ;
STRIDED : 'strided' ;
BROADCAST : 'broadcast' ;
APPEND : 'append' ;

IDENT : [A-Za-z_] [A-Za-z0-9_]* ;
INT : [0-9] [0-9_]* | '0' [xX] [0-9A-Fa-f] [0-9A-Fa-f_]* ;
FLOAT : [0-9]+ '.' [0-9]+ EXPONENT? | [0-9]+ EXPONENT ;
STRING : '"' STRING_PART* '"' ;

LPAREN : '(' ;
RPAREN : ')' ;
LBRACK : '[' ;
RBRACK : ']' ;
LBRACE : '{' ;
RBRACE : '}' ;
COMMA : ',' ;
SEMI : ';' ;
COLON : ':' ;
DOT : '.' ;
DOTDOT : '..' ;
ARROW : '->' ;
AT : '@' ;
QUESTION : '?' ;
TILDE : '~' ;
ASSIGN : '=' ;
PLUS_ASSIGN : '+=' ;
MINUS_ASSIGN : '-=' ;
STAR_ASSIGN : '*=' ;
SLASH_ASSIGN : '/=' ;
PERCENT_ASSIGN : '%=' ;
AMP_ASSIGN : '&=' ;
BAR_ASSIGN : '|=' ;
CARET_ASSIGN : '^=' ;
OROR : '||' ;
ANDAND : '&&' ;
EQ : '==' ;
NE : '!=' ;
LT : '<' ;
LE : '<=' ;
GT : '>' ;
GE : '>=' ;
BAR : '|' ;
CARET : '^' ;
AMP : '&' ;
SHL : '<<' ;
SHR : '>>' ;
PLUS : '+' ;
MINUS : '-' ;
STAR : '*' ;
SLASH : '/' ;
PERCENT : '%' ;
NOT : '!' ;

DOC_COMMENT : '///' ~[/\r\n] ~[\r\n]* -> channel(HIDDEN) ;
EMPTY_DOC_COMMENT : '///' -> type(DOC_COMMENT), channel(HIDDEN) ;
LINE_COMMENT : '//' ~[\r\n]* -> skip ;
BLOCK_COMMENT : '/*' .*? '*/' -> skip ;
SPACE : [ \t\r\n\f]+ -> skip ;

// What src/syntax reports.
UNCLOSED_COMMENT : '/*' (~'*' | '*'+ ~[*/])* '*'* ;
UNCLOSED_STRING : '"' STRING_PART* '\\'? ;
BAD_NUMBER : [0-9] [A-Za-z0-9_]* ('.' [0-9] [A-Za-z0-9_]*)? ;
UNKNOWN : [\u0080-\u00FF]+ | . ;

fragment EXPONENT : [eE] [+\-]? [0-9]+ ;
fragment STRING_PART : ~["\\\r\n] | '\\' ~[\r\n] ;
