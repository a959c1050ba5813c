// A grammar of KDL's words and brackets, for highlighting, folding and selecting in editors. It does not say which
// order of words is right: it has a tree for every text, also while it is being written. The errors come from
// `kernelc lsp`.

/// Words that are never names.
const HARD = [
    'import', 'const', 'export', 'kernel', 'program', 'fn', 'let', 'var', 'if', 'then', 'else',
    'for', 'while', 'spmd', 'sync', 'break', 'continue', 'return', 'atomic', 'as', 'in', 'out',
    'inout', 'auto', 'inf', 'nan', 'true', 'false',
];

/// Words that are names where the language does not expect them.
const SOFT = [
    'range', 'stage', 'domain', 'pipe', 'device', 'test', 'view', 'types', 'reduce', 'expect',
    'fuse', 'by', 'step', 'over', 'reversed', 'exclusive', 'with', 'init', 'on', 'to', 'max',
    'min', 'where', 'is', 'requires', 'ensures', 'push', 'pop',
    'strided', 'broadcast', 'append',
];

const SCALARS = [
    'bool', 'i8', 'i16', 'i32', 'i64', 'u8', 'u16', 'u32', 'u64', 'f8e4m3', 'f8e5m2', 'f8e8m0', 'f16',
    'bf16', 'tf32', 'f32', 'f64', 'int',
];

module.exports = grammar({
  name: 'kernelc',

  word: $ => $.identifier,
  extras: $ => [/\s/, $.comment, $.doc_comment],

  rules: {
    source_file: $ => repeat($._part),

    _part: $ => choice($._word, $.block, $.parentheses, $.brackets, $.punctuation),
    block: $ => seq('{', repeat($._part), '}'),
    parentheses: $ => seq('(', repeat($._part), ')'),
    brackets: $ => seq('[', repeat($._part), ']'),

    _word: $ => choice(
      $.keyword, $.soft_keyword, $.scalar, $.attribute, $.number, $.string, $.identifier, $.declaration, $.call),
    // A function's declaration and a call are preferred to their first word alone.
    declaration: $ => prec(2, seq(choice('fn', 'kernel', 'program'), field('name', $.identifier))),
    call: $ => prec(1, seq(field('name', $.identifier), $.parentheses)),

    keyword: _ => choice(...HARD),
    soft_keyword: _ => choice(...SOFT),
    scalar: _ => choice(...SCALARS),
    attribute: _ => token(seq('@', /[A-Za-z_][A-Za-z0-9_]*/)),
    identifier: _ => /[A-Za-z_][A-Za-z0-9_]*/,
    number: _ => token(choice(/0[xX][0-9A-Fa-f_]+/, /[0-9]+(\.[0-9]+)?[eE][+-]?[0-9]+/, /[0-9]+\.[0-9]+/, /[0-9][0-9_]*/)),
    string: _ => token(seq('"', repeat(choice(/[^"\\\r\n]/, /\\[^\r\n]/)), '"')),
    doc_comment: _ => token(prec(1, /\/\/\/[^\/\r\n][^\r\n]*/)),
    comment: _ => token(choice(/\/\/[^\r\n]*/, /\/\*[^*]*\*+([^\/*][^*]*\*+)*\//)),
    punctuation: _ => token(choice(/[,;:.@~=+*\/%&|^<>!?-]/, '->', '..', /[-+*\/%&|^=!<>]=/, '&&', '||', '<<', '>>')),
  },
});
