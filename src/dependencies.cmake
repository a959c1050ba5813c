# The libraries that the compiler is built with, and its precompiled headers.
find_package(LLVM 19.1 REQUIRED CONFIG HINTS /usr/lib/llvm-19)
find_package(Boost 1.74 REQUIRED COMPONENTS program_options)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(yaml-cpp REQUIRED)
find_program(KDL_CLANG clang++-19 REQUIRED)  # compiles code for devices, whose compilers are not needed

# The shared libLLVM, whose headers cause no warnings. Only the code generator links it.
add_library(kdl_llvm INTERFACE)
target_include_directories(kdl_llvm SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS})
separate_arguments(llvm_definitions NATIVE_COMMAND "${LLVM_DEFINITIONS}")
target_compile_definitions(kdl_llvm INTERFACE ${llvm_definitions})
target_link_libraries(kdl_llvm INTERFACE LLVM)

# lld, which links shared objects of kernels. Debian has only static libraries of it.
find_library(KDL_LLD_ELF lldELF HINTS ${LLVM_LIBRARY_DIRS} REQUIRED)
find_library(KDL_LLD_COMMON lldCommon HINTS ${LLVM_LIBRARY_DIRS} REQUIRED)
find_package(ZLIB REQUIRED)
find_library(KDL_ZSTD zstd REQUIRED)
add_library(kdl_lld INTERFACE)
target_link_libraries(kdl_lld INTERFACE ${KDL_LLD_ELF} ${KDL_LLD_COMMON} kdl_llvm ZLIB::ZLIB ${KDL_ZSTD})

# isl, the library of integer sets that the proofs use. It is shared because it links GMP. Debian's libLLVM also exports a copy of
# isl; kernelc links this one first, so that symbols bind to it (tests/run/isl.py).
find_library(KDL_ISL_LIBRARY isl REQUIRED)
find_path(KDL_ISL_INCLUDE isl/set.h REQUIRED)
add_library(kdl_isl INTERFACE)
target_include_directories(kdl_isl SYSTEM INTERFACE ${KDL_ISL_INCLUDE})
target_link_libraries(kdl_isl INTERFACE ${KDL_ISL_LIBRARY})

# The reader of pipeline files.
add_library(kdl_yaml INTERFACE)
target_link_libraries(kdl_yaml INTERFACE yaml-cpp)

# -- Precompiled headers -----------------------------------------------------------------------

# Reading these headers takes a third of a file's compile time. A file still includes what it uses: no
# file may depend on this list.
set(KDL_PRECOMPILED <algorithm> <array> <functional> <map> <memory> <optional> <set> <span> <string>
    <string_view> <unordered_map> <unordered_set> <utility> <variant> <vector> <fmt/format.h>)

# kdl_precompile(NAME [PRIVATE target...] HEADERS header...): precompiled headers for targets with the same include paths.
function(kdl_precompile name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "PRIVATE;HEADERS")
  set(source ${PROJECT_BINARY_DIR}/generated/${name}.cpp)
  file(CONFIGURE OUTPUT ${source} CONTENT "// Carries the precompiled headers.\n")
  add_library(${name} OBJECT ${source})
  target_link_libraries(${name} PRIVATE fmt::fmt ${arg_PRIVATE})
  target_precompile_headers(${name} PRIVATE ${arg_HEADERS})
  string(SHA256 sum "${CMAKE_CXX_COMPILER_VERSION} ${CMAKE_CXX_FLAGS} ${CMAKE_BUILD_TYPE} ${arg_HEADERS}")
  file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/${name}.dir/cmake_pch.hxx.gch.sum ${sum})
endfunction()

kdl_precompile(kdl_precompiled HEADERS ${KDL_PRECOMPILED})
