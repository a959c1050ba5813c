# Run by kdl_add_library: writes MAP, which lets a shared library show what HEADER declares, as VERSION, by which the loader tells
# two vendors' functions of one name apart. Names are those of the header: the namespace of a module that is called as a word or
# a function of C ends in `_`, which the functions of C do without.

# Whoever includes the header of a static library refers to its objects (kdl/link.h): of a shared one they are not seen.
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
