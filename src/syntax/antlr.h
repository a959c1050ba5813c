#pragma once

// For the sources of this folder only: everything of ANTLR and of the generated parser.

#include <antlr4-runtime.h>

#include "KdlLexer.h"
#include "KdlParser.h"
