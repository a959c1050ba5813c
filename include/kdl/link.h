/* What ties generated headers to the objects that belong to them.
 *
 * Two static libraries may have functions of one name: the linker takes the first one's for both, and never looks at the
 * other. So whoever includes a generated header refers to a symbol that is named by the contents of its module, which
 * brings in the object that defines it, and with that the error that a function is defined twice. */
#pragma once

/* Refers to the symbol from a section that no program keeps: nothing fails where nobody defines it. */
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
