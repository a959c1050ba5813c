# Run by kdl_add_library. Uses AR to add the objects for PROCESSOR in FOLDER to ARCHIVE. The number of objects
# depends on the targets, which may be for several processors.
set(machine_x86_64 3e00)  # e_machine of ELF headers
set(machine_AMD64 3e00)
set(machine_aarch64 b700)
set(machine_arm64 b700)
set(machine_riscv64 f300)

string(REGEX REPLACE "([][*?])" "[\\1]" pattern "${FOLDER}")
file(GLOB objects "${pattern}/*.o")
if(DEFINED machine_${PROCESSOR})
  foreach(object IN LISTS objects)
    file(READ "${object}" machine OFFSET 18 LIMIT 2 HEX)
    if(NOT machine STREQUAL machine_${PROCESSOR})
      list(REMOVE_ITEM objects "${object}")
    endif()
  endforeach()
endif()
if(NOT objects)
  message(FATAL_ERROR "kdl_add_library: its OPTIONS generate no code for ${PROCESSOR}; --target names targets: "
                      "`kernelc targets` lists them")
endif()
execute_process(COMMAND "${AR}" rcs "${ARCHIVE}" ${objects} COMMAND_ERROR_IS_FATAL ANY)
