(comment) @comment
(doc_comment) @comment.documentation
(string) @string
(number) @number
(attribute) @attribute
(scalar) @type.builtin
(keyword) @keyword
(soft_keyword) @keyword
(punctuation) @operator
(declaration) @keyword
(declaration name: (identifier) @function)
(call name: (identifier) @function.call)
