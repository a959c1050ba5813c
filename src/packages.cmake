# `cpack` in the build folder makes Debian packages: what programs run with, what they are built with, the compiler.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME kernelc)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Compiler and device runtime for tiled SPMD kernels")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL libkdl0 libkdl-dev kernelc)
set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
set(CPACK_PACKAGE_CONTACT "kernelc maintainers")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)

set(CPACK_DEBIAN_LIBKDL0_PACKAGE_NAME libkdl0)
set(CPACK_DEBIAN_LIBKDL0_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBKDL-DEV_PACKAGE_NAME libkdl-dev)
set(CPACK_DEBIAN_LIBKDL-DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_LIBKDL-DEV_PACKAGE_DEPENDS "libkdl0 (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_KERNELC_PACKAGE_NAME kernelc)
set(CPACK_DEBIAN_KERNELC_PACKAGE_SECTION devel)
# What `--emit exe` and `--emit shared` link with.
set(CPACK_DEBIAN_KERNELC_PACKAGE_DEPENDS
  "libkdl-dev (= ${PROJECT_VERSION}), g++, lld-19, libboost-program-options-dev, libfmt-dev")
include(CPack)
