# Run by kdl_add_library. Writes the version script MAP for the linker. With the script, a shared library
# exports the functions that HEADER declares, as version VERSION. The loader uses versions to distinguish
# functions of the same name from two vendors. The script uses the names in the header. If a module is named
# like a keyword or a C function, its namespace ends in `_`, which is omitted from the names of its C
# functions.

# The header of a static library refers to the library's objects (see kdl/link.h). The objects of a shared
# library are not visible, so the references are removed.
file(READ "${HEADER}" text)
string(REGEX REPLACE "\nKDL_REFERS_TO\\([^)]*\\);\n" "" text "${text}")
file(WRITE "${HEADER}" "${text}")

file(STRINGS "${HEADER}" spaces REGEX "^namespace " ENCODING UTF-8)
list(GET spaces 0 space)
string(REGEX REPLACE "^namespace ([A-Za-z0-9_]+) .*" "\\1" space "${space}")
string(REGEX REPLACE "_$" "" prefix "${space}")
file(STRINGS "${HEADER}" images REGEX "^extern const kdl_image" ENCODING UTF-8)
string(REGEX REPLACE ".*(kdl_images_[A-Za-z0-9_]*)\\[.*" "\\1" images "${images}")
file(WRITE "${MAP}" "${VERSION} {
 global:
  ${prefix}_*;
  ${images}_*;
  kdl_module_images;
  extern \"C++\" { ${space}::*; };
 local: *;
};
")
