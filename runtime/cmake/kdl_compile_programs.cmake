# Run by kdl_add_library in projects of C: compiles SOURCE, NAME.orch.cpp, by CXX where it has programs, whose functions for C
# stand at the beginning of a line.
file(STRINGS "${SOURCE}" programs REGEX "^kdl_error\\* " ENCODING UTF-8)
if(NOT programs)
  return()
endif()
if(NOT CXX)
  message(FATAL_ERROR "kdl_add_library: programs become C++, and there is no C++ compiler; install one, set KDL_CXX to its "
                      "path, or write project(... LANGUAGES C CXX)")
endif()
list(TRANSFORM INCLUDE PREPEND -I)
execute_process(COMMAND "${CXX}" -std=c++20 -O2 -fPIC ${INCLUDE} -c "${SOURCE}" -o "${SOURCE}.o" COMMAND_ERROR_IS_FATAL ANY)
