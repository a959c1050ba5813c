# Run by kdl_add_library: writes MAP, a version script with which a shared library exports the declarations of HEADER as VERSION.
# The version lets the loader distinguish functions of two vendors that have the same name. Names are those of the header: if a
# module has the name of a C keyword or C function, its namespace ends in `_`, but its C functions have no `_`.

# The header of a static library refers to its objects (kdl/link.h); those of a shared library are not visible.
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
