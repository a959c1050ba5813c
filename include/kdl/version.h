/* The version of the compiler, the headers and the runtime, which are released together. The build reads
 * the version from this file. */
#pragma once

#define KDL_VERSION_MAJOR 0
#define KDL_VERSION_MINOR 1
#define KDL_VERSION_PATCH 0

#define KDL_VERSION KDL_VERSION_TEXT(KDL_VERSION_MAJOR, KDL_VERSION_MINOR, KDL_VERSION_PATCH)
#define KDL_VERSION_TEXT(major, minor, patch) KDL_VERSION_JOINED(major, minor, patch)
#define KDL_VERSION_JOINED(major, minor, patch) #major "." #minor "." #patch

/* A namespace inside `kdl` for everything that is defined in C++ headers. Users do not write it. It allows
 * libraries that were compiled with headers of different versions to be linked into one program, each with
 * its own functions. */
#define KDL_VERSIONED KDL_VERSIONED_NAME(KDL_VERSION_MAJOR, KDL_VERSION_MINOR)
#define KDL_VERSIONED_NAME(major, minor) KDL_VERSIONED_JOINED(major, minor)
#define KDL_VERSIONED_JOINED(major, minor) v##major##_##minor
