# kdl_add_library(NAME FILE.kdl [MODULE module] [OPTIONS option...])
#
# A static library NAME of the kernels and programs in FILE.kdl. What links it includes "FILE.h" and links the
# runtime; with MODULE "module.h", whose namespace is `module`: libraries whose files have one name need that to be
# linked together. OPTIONS go to `kernelc build`: --target host?isa=x86-64-v3, -D BM=64, -O3. The file, and what it
# imports, are compiled again when they change.
set(KDL_COLLECT_SCRIPT "${CMAKE_CURRENT_LIST_DIR}/kdl_collect.cmake")

function(kdl_add_library name source)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "MODULE" "OPTIONS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "kdl_add_library(${name} FILE.kdl [MODULE module] [OPTIONS option...])")
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
  set(archive "${folder}/lib${stem}.kdl.a")
  add_custom_command(
    OUTPUT "${folder}/${stem}.h" "${folder}/${stem}.orch.cpp" "${archive}"
    # No object of an earlier set of targets may stay.
    COMMAND "${CMAKE_COMMAND}" -E rm -rf "${folder}"
    COMMAND "${CMAKE_COMMAND}" -E make_directory "${folder}"
    # Ninja refuses deps that name a file that OUTPUT does not. How many objects there are is not known here,
    # so that they come from a command of their own.
    COMMAND "${KDL_KERNELC}" build "${source}" -o "${folder}" --emit header,orch,deps ${arg_OPTIONS}
    COMMAND "${KDL_KERNELC}" build "${source}" -o "${folder}" --emit obj ${arg_OPTIONS}
    COMMAND "${CMAKE_COMMAND}" "-DFOLDER=${folder}" "-DARCHIVE=${archive}" "-DAR=${CMAKE_AR}"
            "-DPROCESSOR=${CMAKE_SYSTEM_PROCESSOR}"
            -P "${KDL_COLLECT_SCRIPT}"
    DEPENDS "${source}" "${KDL_KERNELC}"
    DEPFILE "${folder}/${stem}.d"
    COMMENT "Compiling ${stem}.kdl"
    VERBATIM)
  add_library(${name} STATIC "${folder}/${stem}.orch.cpp" "${folder}/${stem}.h")
  target_include_directories(${name} PUBLIC "${folder}")
  target_link_libraries(${name} PUBLIC "${archive}" kdl::runtime)
endfunction()
