# kdl_add_library(NAME FILE.kdl [STATIC | SHARED] [MODULE module] [OPTIONS option...])
#
# Defines a library NAME of the kernels and programs in FILE.kdl. Targets that link it include "FILE.h" and also link the
# runtime. With MODULE they include "module.h", whose namespace is `module`: libraries whose files have the same name need this
# to be linked together; otherwise CMake reports that their KDL_MODULE_name does not agree, or the linker that a function is
# defined twice. OPTIONS are passed to `kernelc build`, such as --target host?isa=x86-64-v3, -D BM=64 or -O3. The file is
# compiled again when it or one of its imports changes.
#
# If a project uses only C, all generated code is C; otherwise programs become C++ code, which C can call, too.
#
# STATIC, the default: for a program, or for a library of your own, which then also contains the runtime and exports neither.
# SHARED: exports the declarations of FILE.h and uses libkdl.so, so that all such libraries can share contexts and tensors.
# Its symbols have the version PROJECT_NAME: a program that was linked with the library of one vendor does not use the
# functions of another.
# kdl_export_only(TARGET name...)
#
# Makes a shared library export only these names: neither the runtime that it contains nor templates that its files
# instantiate, which could prevent its unloading. Names may end in *; C++ names contain :: and no parameters: "vendor::*".
function(kdl_add_library name source)
  cmake_parse_arguments(PARSE_ARGV 2 arg "STATIC;SHARED" "MODULE" "OPTIONS")
  if(arg_UNPARSED_ARGUMENTS OR (arg_STATIC AND arg_SHARED))
    message(FATAL_ERROR "kdl_add_library(${name} FILE.kdl [STATIC | SHARED] [MODULE module] [OPTIONS option...])")
  endif()
  # Whether this folder can use C++: perhaps only another part of the project has enabled it.
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
  cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" NORMALIZE)
  cmake_path(GET source STEM stem)
  if(arg_MODULE)
    set(stem ${arg_MODULE})
    list(PREPEND arg_OPTIONS --module ${arg_MODULE})
  endif()
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/${name}.kdl")
  string(MAKE_C_IDENTIFIER "${stem}" module)
  set(generated "${folder}/${stem}.c" "${folder}/${stem}.h" "${folder}/${stem}.${programs_file}")
  # The static library contains the objects itself, so nothing else must be linked or installed.
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
    # Objects of an earlier set of targets must not remain.
    COMMAND "${CMAKE_COMMAND}" -E rm -rf "${folder}"
    COMMAND "${CMAKE_COMMAND}" -E make_directory "${folder}"
    # Ninja rejects a dependency file whose outputs are not in OUTPUT. The number of objects is not known here, so they are
    # written after the dependency file, which names only the outputs before it.
    COMMAND "${KDL_KERNELC}" build "${source}" -o "${folder}" --emit header,c,${programs},deps,obj ${arg_OPTIONS}
    ${collect_shared}
    DEPENDS "${source}" "${KDL_KERNELC}" $<TARGET_NAME_IF_EXISTS:kernelc>
    DEPFILE "${folder}/${stem}.d"
    COMMENT "Compiling ${stem}.kdl"
    VERBATIM)
  if(has_cxx)  # perhaps only a part of the project uses C
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
  # Warnings in generated code must not be errors, even if the project asks for that; and results are defined bit for bit.
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
  # Otherwise the linker would use the functions of the first library for the second.
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

# SHELL: is used because LINKER: would split a path at its commas.
function(kdl_show_only name map)
  target_link_options(${name} PRIVATE "SHELL:-Xlinker \"--version-script=${map}\"")
endfunction()
