#pragma once

// Includes ANTLR and the generated parser. Only the sources of this folder may include this header.

#include <antlr4-runtime.h>  // IWYU pragma: export

#include "KdlLexer.h"   // IWYU pragma: export
#include "KdlParser.h"  // IWYU pragma: export
