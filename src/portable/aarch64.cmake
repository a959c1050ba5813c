# A toolchain file for AArch64, with the libraries of KDL_CROSS_SYSTEM (runtime/python/packing/build.sh makes this folder). The
# compiler and its C++ library are Debian's g++-aarch64-linux-gnu; programs of the build run in the emulator of qemu-user.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(KDL_CROSS_SYSTEM "" CACHE PATH "The root folder with libraries for AArch64")
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES KDL_CROSS_SYSTEM)
set(CMAKE_SYSROOT ${KDL_CROSS_SYSTEM})
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64;-L;${KDL_CROSS_SYSTEM})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
# CMake cannot ask this system's Python where the headers for AArch64 are.
set(Python3_INCLUDE_DIR ${KDL_CROSS_SYSTEM}/usr/include/python3.11 CACHE PATH "Python's headers")
