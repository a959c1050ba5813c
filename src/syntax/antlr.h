#pragma once

// For the sources of this folder only: everything of ANTLR and of the generated parser.

#include <antlr4-runtime.h>  // IWYU pragma: export

#include "KdlLexer.h"   // IWYU pragma: export
#include "KdlParser.h"  // IWYU pragma: export
