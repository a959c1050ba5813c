" KDL, the language of kernelc.
if exists("b:current_syntax")
  finish
endif

syntax keyword kernelcKeyword import const export kernel program fn let var if then else for while
syntax keyword kernelcKeyword spmd sync break continue return atomic as in out inout auto
syntax keyword kernelcSoft range stage domain pipe device test view types reduce expect fuse by step
syntax keyword kernelcSoft over reversed exclusive with init on to max min where is requires ensures
syntax keyword kernelcSoft push pop strided broadcast append
syntax keyword kernelcConstant inf nan true false
syntax keyword kernelcType bool i8 i16 i32 i64 u8 u16 u32 u64 f8e4m3 f8e5m2 f8e8m0 f16 bf16 tf32 f32 f64 int
syntax match kernelcNumber "\<0[xX][0-9A-Fa-f_]\+\>\|\<[0-9][0-9_]*\(\.[0-9]\+\)\?\([eE][+-]\?[0-9]\+\)\?\>"
syntax match kernelcAttribute "@\h\w*"
syntax match kernelcCall "\<\h\w*\ze("
syntax region kernelcString start=+"+ skip=+\\.+ end=+"+ oneline
syntax match kernelcComment "//.*$" contains=@Spell
syntax region kernelcComment start="/\*" end="\*/" contains=@Spell

highlight default link kernelcKeyword Keyword
highlight default link kernelcSoft Keyword
highlight default link kernelcConstant Constant
highlight default link kernelcType Type
highlight default link kernelcNumber Number
highlight default link kernelcAttribute PreProc
highlight default link kernelcCall Function
highlight default link kernelcString String
highlight default link kernelcComment Comment
let b:current_syntax = "kernelc"
