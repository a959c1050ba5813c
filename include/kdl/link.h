/* Ties generated headers to the objects that belong to them.
 *
 * Two static libraries may define functions of the same name. The linker would then use the functions of the
 * first library for both, without an error. To prevent this, every file that includes a generated header
 * refers to a symbol that is named after the module's contents. This pulls in the object that defines it, so
 * that the linker reports the duplicate functions. */
#pragma once

/* Refers to the symbol from a section that is not linked into any program, so an undefined symbol is not
 * an error. */
#if defined(__ELF__)
#define KDL_REFERS_TO(symbol) \
  __asm__(".pushsection .kdl.links, \"e\", %progbits\n .8byte " #symbol "\n .popsection")
#else
#define KDL_REFERS_TO(symbol) extern const char symbol
#endif

#ifdef __cplusplus
#define KDL_DEFINES(symbol) \
  extern "C" {              \
  extern const char symbol; \
  const char symbol = 0;    \
  }
#else
#define KDL_DEFINES(symbol) \
  extern const char symbol; \
  const char symbol = 0;
#endif
