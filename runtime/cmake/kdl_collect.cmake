# Run by kdl_add_library: puts the objects in FOLDER into ARCHIVE with AR. How many there are depends on the
# targets.
file(GLOB objects "${FOLDER}/*.o")
file(REMOVE "${ARCHIVE}")
execute_process(COMMAND "${AR}" rcs "${ARCHIVE}" ${objects} COMMAND_ERROR_IS_FATAL ANY)
