;;; kernelc-mode.el --- KDL, the language of kernelc  -*- lexical-binding: t; -*-

;; Package-Requires: ((emacs "29.1"))

;;; Commentary:
;; A mode for .kdl files, with `kernelc lsp' through eglot.

;;; Code:

(defconst kernelc-keywords
  '(
    "import" "const" "export" "kernel" "program" "fn" "let" "var" "if" "then" "else" "for"
    "while" "spmd" "sync" "break" "continue" "return" "atomic" "as" "in" "out" "inout"
    "auto" "range" "stage" "domain" "pipe" "device" "test" "view" "types" "reduce"
    "expect" "fuse" "by" "step" "over" "reversed" "exclusive" "with" "init" "on" "to"
    "max" "min" "where" "is" "requires" "ensures" "push" "pop"
    "strided" "broadcast" "append")
  "The words of the language.")

(defconst kernelc-constants
  '(
    "inf" "nan" "true" "false")
  "The words for values.")

(defconst kernelc-types
  '(
    "bool" "i8" "i16" "i32" "i64" "u8" "u16" "u32" "u64" "f8e4m3" "f8e5m2" "f8e8m0" "f16" "bf16"
    "tf32" "f32" "f64" "int")
  "The element types.")

(defvar kernelc-mode-syntax-table
  (let ((table (make-syntax-table)))
    (modify-syntax-entry ?_ "w" table)
    (modify-syntax-entry ?/ ". 124b" table)
    (modify-syntax-entry ?* ". 23" table)
    (modify-syntax-entry ?\n "> b" table)
    table))

(defconst kernelc-font-lock-keywords
  `((,(regexp-opt kernelc-keywords 'words) . font-lock-keyword-face)
    (,(regexp-opt kernelc-constants 'words) . font-lock-constant-face)
    (,(regexp-opt kernelc-types 'words) . font-lock-type-face)
    ("@[A-Za-z_][A-Za-z0-9_]*" . font-lock-preprocessor-face)
    ("\\<\\(?:fn\\|kernel\\|program\\)\\s-+\\([A-Za-z_][A-Za-z0-9_]*\\)" 1 font-lock-function-name-face)))

;;;###autoload
(define-derived-mode kernelc-mode prog-mode "KDL"
  "Major mode for KDL."
  (setq-local comment-start "// ")
  (setq-local comment-end "")
  (setq-local indent-tabs-mode nil)
  (setq-local tab-width 4)
  (setq-local font-lock-defaults '(kernelc-font-lock-keywords)))

;;;###autoload
(add-to-list 'auto-mode-alist '("\\.kdl\\'" . kernelc-mode))

(with-eval-after-load 'eglot
  (add-to-list 'eglot-server-programs '(kernelc-mode . ("kernelc" "lsp"))))

(provide 'kernelc-mode)
;;; kernelc-mode.el ends here
