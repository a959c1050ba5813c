# kdl_add_library(NAME FILE.kdl [STATIC | SHARED] [MODULE module] [OPTIONS option...])
# kdl_add_library(NAME std.nn …)
#
# Creates a library NAME of the kernels and programs in FILE.kdl, or in a file of the standard library, such as std.nn. Code that links the library includes
# "FILE.h" and links the runtime. With MODULE, the header is "module.h", and its namespace is `module`.
# Libraries whose files have the same name can be linked together only if each has its own MODULE. Otherwise,
# CMake reports that the values of KDL_MODULE_name do not agree, or the linker reports that a function is
# defined twice. OPTIONS are passed to `kernelc build`, for example --target host?isa=x86-64-v3, -D BM=64, or
# -O3. The file is compiled again when it or a file that it imports changes.
#
# If the project uses only C, the generated code is C. Otherwise, the programs in FILE.kdl become C++, which C
# can call, too.
#
# STATIC, the default: a library to link into a program or into a library of your own. Your own library then
# also contains the runtime, and exports neither of the two.
# SHARED: exports what FILE.h declares and uses libkdl.so, so that contexts and tensors can be shared between
# all such libraries. Its symbols have the version PROJECT_NAME, so a program linked with one vendor's library
# cannot get the functions of another's.
# kdl_export_only(TARGET name...)
#
# Makes a shared library export only these names. It then exports neither the runtime inside it nor templates
# that its files instantiate, which could prevent the library from being unloaded. Names may end in *. Names
# that contain :: are names of C++ without parameters, such as "vendor::*".
function(kdl_add_library name source)
  cmake_parse_arguments(PARSE_ARGV 2 arg "STATIC;SHARED" "MODULE" "OPTIONS")
  if(arg_UNPARSED_ARGUMENTS OR (arg_STATIC AND arg_SHARED))
    message(FATAL_ERROR "kdl_add_library(${name} FILE.kdl [STATIC | SHARED] [MODULE module] [OPTIONS option...])")
  endif()
  # Whether C++ is enabled in this folder. It may be enabled only in another part of the project.
  set(has_cxx "${CMAKE_CXX_COMPILER_LOADED}")
  set(programs orch)
  set(programs_file orch.cpp)
  if(NOT has_cxx)
    set(programs orch-c)
    set(programs_file orch.c)
    find_program(KDL_CXX NAMES c++ g++ clang++)
    if(NOT KDL_CXX AND NOT arg_SHARED)
      message(FATAL_ERROR "kdl_add_library(${name}): a static library contains the runtime, which requires the C++ library; install a C++ compiler, or "
                          "write SHARED, which uses libkdl.so")
    endif()
  endif()
  if(NOT KDL_KERNELC)
    message(FATAL_ERROR "kdl_add_library(${name}): kernelc was not found; set KDL_KERNELC to its path")
  endif()
  set(file "")
  if(source MATCHES "^std\\.([a-z_.]+)$")
    string(REGEX REPLACE ".*\\." "" stem "${source}")  # as kernelc names its outputs
  else()
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" NORMALIZE)
    cmake_path(GET source STEM LAST_ONLY stem)
    set(file "${source}")
  endif()
  if(arg_MODULE)
    set(stem ${arg_MODULE})
    list(PREPEND arg_OPTIONS --module ${arg_MODULE})
  endif()
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/${name}.kdl")
  string(MAKE_C_IDENTIFIER "${stem}" module)
  set(generated "${folder}/${stem}.c" "${folder}/${stem}.h" "${folder}/${stem}.${programs_file}")
  # A static library contains the objects directly, so that only the library has to be linked and installed.
  set(archive "${folder}/lib${module}.kdl.a")
  if(NOT arg_SHARED)
    set(archive "$<TARGET_FILE:${name}>")
  endif()
  set(collect COMMAND "${CMAKE_COMMAND}" "-DFOLDER=${folder}" "-DARCHIVE=${archive}" "-DAR=${CMAKE_AR}"
      "-DPROCESSOR=${CMAKE_SYSTEM_PROCESSOR}" -P "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/kdl_collect.cmake")
  set(output ${generated})
  set(collect_shared "")
  if(arg_SHARED)
    set(map "${folder}/shown.map")
    string(MAKE_C_IDENTIFIER "${PROJECT_NAME}_${name}" version)
    list(APPEND output "${archive}" "${map}")
    set(collect_shared ${collect}
        COMMAND "${CMAKE_COMMAND}" "-DHEADER=${folder}/${stem}.h" "-DMAP=${map}" "-DVERSION=${version}"
        -P "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/kdl_show.cmake")
  endif()
  add_custom_command(
    OUTPUT ${output}
    # Objects from an earlier set of targets must not remain.
    COMMAND "${CMAKE_COMMAND}" -E rm -rf "${folder}"
    COMMAND "${CMAKE_COMMAND}" -E make_directory "${folder}"
    # Ninja refuses a dependency file that names an output that OUTPUT does not list. The number of objects is
    # not known here, so they are written after the dependency file, which lists only the files written before
    # it.
    COMMAND "${KDL_KERNELC}" build "${source}" -o "${folder}" --emit header,c,${programs},deps,obj ${arg_OPTIONS}
    ${collect_shared}
    DEPENDS ${file} "${KDL_KERNELC}" $<TARGET_NAME_IF_EXISTS:kernelc>
    DEPFILE "${folder}/${stem}.d"
    COMMENT "Compiling ${stem}.kdl"
    VERBATIM)
  if(has_cxx)  # C may be enabled only in another part of the project
    set_source_files_properties("${folder}/${stem}.c" PROPERTIES LANGUAGE CXX)
  endif()
  if(arg_SHARED)
    add_library(${name} SHARED ${generated})
    kdl_show_only(${name} "${map}")
    string(REPLACE "," "$<COMMA>" whole "${archive}")
    target_link_libraries(${name} PRIVATE "$<LINK_LIBRARY:WHOLE_ARCHIVE,${whole}>" PUBLIC kdl::shared)
  else()
    add_library(${name} STATIC ${generated})
    add_custom_command(TARGET ${name} POST_BUILD ${collect} VERBATIM)
    target_link_options(${name} INTERFACE "LINKER:--exclude-libs,$<TARGET_FILE_NAME:$<TARGET_NAME:${name}>>")
    target_link_libraries(${name} PUBLIC kdl::runtime)
  endif()
  # A project that treats warnings as errors should do so only for its own sources. Results are defined bit
  # for bit, so the compiler must not change floating-point arithmetic.
  target_compile_options(${name} PRIVATE -w -ffp-contract=off -fno-fast-math)
  if(has_cxx)
    target_compile_features(${name} PRIVATE cxx_std_20)
  else()
    target_compile_features(${name} PRIVATE c_std_11)
    target_link_libraries(${name} PUBLIC $<$<NOT:$<BOOL:${arg_SHARED}>>:stdc++> m)
  endif()
  target_include_directories(${name} PUBLIC "$<BUILD_INTERFACE:${folder}>")  # install() puts the header elsewhere
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON PUBLIC_HEADER "${folder}/${stem}.h"
    INTERFACE_KDL_MODULE_${module} ${PROJECT_NAME}.${name})
  # If two libraries had the same module, the linker would use the functions of the first for both.
  set_property(TARGET ${name} APPEND PROPERTY COMPATIBLE_INTERFACE_STRING KDL_MODULE_${module})
endfunction()

function(kdl_export_only name)
  set(map "${CMAKE_CURRENT_BINARY_DIR}/${name}.map")
  set(names "")
  foreach(pattern IN LISTS ARGN)
    if(pattern MATCHES "::")
      string(APPEND names "  extern \"C++\" { ${pattern}; };\n")
    else()
      string(APPEND names "  ${pattern};\n")
    endif()
  endforeach()
  file(CONFIGURE OUTPUT "${map}" CONTENT "{\n global:\n${names} local: *;\n};\n")
  kdl_show_only(${name} "${map}")
endfunction()

# LINKER: is not used, because it would split a path at its commas.
function(kdl_show_only name map)
  target_link_options(${name} PRIVATE "SHELL:-Xlinker \"--version-script=${map}\"")
endfunction()
