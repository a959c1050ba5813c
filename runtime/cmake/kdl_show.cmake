# Run by kdl_add_library: writes MAP, which lets a shared library show what HEADER declares. Names are those of the header: a module
# that is called as a word or a function of C is not what its functions begin with.
file(STRINGS "${HEADER}" spaces REGEX "^namespace " ENCODING UTF-8)
list(GET spaces 0 space)
string(REGEX REPLACE "^namespace ([A-Za-z0-9_]+) .*" "\\1" space "${space}")
file(STRINGS "${HEADER}" images REGEX "^extern const kdl_image" ENCODING UTF-8)
string(REGEX REPLACE ".*(kdl_images_[A-Za-z0-9_]*)\\[.*" "\\1" images "${images}")
file(WRITE "${MAP}" "{
 global:
  ${space}_*;
  ${images}_*;
  kdl_module_images;
  extern \"C++\" { ${space}::*; };
 local: *;
};
")
