# kdl_add_library(NAME FILE.kdl [STATIC | SHARED] [MODULE module] [OPTIONS option...])
#
# A library NAME of the kernels and programs in FILE.kdl. What links it includes "FILE.h" and links the runtime; with
# MODULE "module.h", whose namespace is `module`: libraries whose files have one name need that to be linked together.
# OPTIONS go to `kernelc build`: --target host?isa=x86-64-v3, -D BM=64, -O3. The file, and what it imports, are compiled
# again when they change.
#
# STATIC, as it is without a word: for a program, or inside a library of your own, which then has the runtime inside, too,
# and shows neither. SHARED: shows what FILE.h declares and uses libkdl.so, so that contexts and tensors are the same for all
# that do.
# kdl_export_only(TARGET name...)
#
# A shared library shows these names and no others: neither the runtime inside nor templates that its files instantiate,
# which could keep it from being unloaded. Names may end in *; those with :: are C++'s, without parameters: "vendor::*".
function(kdl_add_library name source)
  cmake_parse_arguments(PARSE_ARGV 2 arg "STATIC;SHARED" "MODULE" "OPTIONS")
  if(arg_UNPARSED_ARGUMENTS OR (arg_STATIC AND arg_SHARED))
    message(FATAL_ERROR "kdl_add_library(${name} FILE.kdl [STATIC | SHARED] [MODULE module] [OPTIONS option...])")
  endif()
  get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
  if(NOT CXX IN_LIST languages)
    message(FATAL_ERROR "kdl_add_library(${name}): programs become C++, which C calls: write project(... LANGUAGES C CXX)")
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
  set(archive "${folder}/lib${module}.kdl.a")
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
            -P "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/kdl_collect.cmake"
    DEPENDS "${source}" "${KDL_KERNELC}" $<TARGET_NAME_IF_EXISTS:kernelc>
    DEPFILE "${folder}/${stem}.d"
    COMMENT "Compiling ${stem}.kdl"
    VERBATIM)
  set(generated "${folder}/${stem}.orch.cpp" "${folder}/${stem}.h")
  if(arg_SHARED)
    add_library(${name} SHARED ${generated})
    kdl_export_only(${name} ${module}_* kdl_images_${module}_* kdl_module_images ${module}::*)
    target_link_libraries(${name} PRIVATE "$<LINK_LIBRARY:WHOLE_ARCHIVE,${archive}>" PUBLIC kdl::shared)
  else()
    add_library(${name} STATIC ${generated})
    target_link_options(${name} INTERFACE "LINKER:--exclude-libs,lib${module}.kdl.a:$<TARGET_FILE_NAME:${name}>")
    target_link_libraries(${name} PUBLIC "${archive}" kdl::runtime)
  endif()
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_compile_features(${name} PUBLIC cxx_std_20)
  target_include_directories(${name} PUBLIC "${folder}")
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
  target_link_options(${name} PRIVATE "LINKER:--version-script=${map}")
endfunction()
