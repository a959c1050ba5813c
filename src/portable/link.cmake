# Programs and modules for other systems than the one that builds them.
set(KDL_OLD_SYSTEM "" CACHE PATH "The root folder of an older Debian, as runtime/python/packing/build.sh makes it, whose libc portable programs are linked with")
set(kdl_portable ${CMAKE_CURRENT_LIST_DIR})

# Links the C++ library into a target, and the libc of the older system if there is one. The code is compiled with the headers of
# this system. If it needs a function that the older libc lacks and older_libc.c does not have, linking fails.
function(kdl_link_portably target)
  target_link_options(${target} PRIVATE -static-libstdc++ -static-libgcc)
  if(NOT KDL_OLD_SYSTEM)
    return()
  endif()
  set(libraries ${KDL_OLD_SYSTEM}/usr/lib/${CMAKE_LIBRARY_ARCHITECTURE})
  # The library that unwinds the stack asks libc for its tables; from this system's libc, it does so in a new way.
  file(GLOB unwinder ${KDL_OLD_SYSTEM}/usr/lib/gcc/${CMAKE_LIBRARY_ARCHITECTURE}/*/libgcc_eh.a)
  if(NOT unwinder)
    message(FATAL_ERROR "there is no Debian with libc6-dev and GCC in ${KDL_OLD_SYSTEM}")
  endif()
  target_sources(${target} PRIVATE ${kdl_portable}/older_libc.c)
  target_link_options(${target} PRIVATE -B${libraries}/ -L${libraries} --sysroot=${KDL_OLD_SYSTEM})
  target_link_libraries(${target} PRIVATE ${unwinder} -lpthread -ldl)
endfunction()

# Sets a variable to the archives of the C++ library that code for such a system needs, and KDL_OLDER_LIBC to the file with
# functions that its libc lacks.
function(kdl_portable_archives variable)
  set(archives -lstdc++ -lgcc_eh -lgcc)
  set(KDL_OLDER_LIBC "" PARENT_SCOPE)
  if(KDL_OLD_SYSTEM)
    file(GLOB archives ${KDL_OLD_SYSTEM}/usr/lib/gcc/${CMAKE_LIBRARY_ARCHITECTURE}/*/libgcc_eh.a)
    list(PREPEND archives -lstdc++)
    list(APPEND archives -lgcc)
    set(KDL_OLDER_LIBC ${kdl_portable}/older_libc.c PARENT_SCOPE)
  endif()
  set(${variable} ${archives} PARENT_SCOPE)
endfunction()
