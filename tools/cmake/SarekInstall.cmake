# What `cmake --install` puts where, and the CMake package: bin/sarekc with the native backend that it loads, the static libraries of the
# runtime, the public headers, lib/cmake/Sarek. The package can be moved as a whole.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

if(NOT TARGET sarekc OR NOT TARGET sarek_runtime)
  return()
endif()

# The runtime and everything it links. A library that is missing here is named by CMake when it writes the export.
set(libraries)
foreach(library support ir spec interp policy artifact window drivers runtime_core runtime)
  if(TARGET sarek_${library})
    list(APPEND libraries sarek_${library})
  endif()
endforeach()
set_target_properties(sarek_runtime PROPERTIES EXPORT_NAME runtime)
set_target_properties(sarekc PROPERTIES EXPORT_NAME sarekc)

set(cmake_folder "${CMAKE_INSTALL_LIBDIR}/cmake/Sarek")
install(TARGETS sarekc ${libraries} EXPORT SarekTargets
  RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}"
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
  INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
if(TARGET sarek_native)
  # Where sarekc looks, whatever a distribution calls its folder of libraries.
  install(TARGETS sarek_native LIBRARY DESTINATION lib/sarek)
endif()
install(DIRECTORY "${PROJECT_SOURCE_DIR}/runtime/include/sarek" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
install(EXPORT SarekTargets NAMESPACE Sarek:: DESTINATION "${cmake_folder}")

configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/SarekConfig.cmake.in" "${PROJECT_BINARY_DIR}/cmake/SarekConfig.cmake"
  INSTALL_DESTINATION "${cmake_folder}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/cmake/SarekConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/cmake/SarekConfig.cmake" "${PROJECT_BINARY_DIR}/cmake/SarekConfigVersion.cmake"
  "${CMAKE_CURRENT_LIST_DIR}/SarekKernels.cmake" DESTINATION "${cmake_folder}")
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}")

# find_package(Sarek) on a build folder (Sarek_DIR=BUILD/cmake) finds the same targets where they were built.
export(EXPORT SarekTargets NAMESPACE Sarek:: FILE "${PROJECT_BINARY_DIR}/cmake/SarekTargets.cmake")
configure_file("${CMAKE_CURRENT_LIST_DIR}/SarekKernels.cmake" "${PROJECT_BINARY_DIR}/cmake/SarekKernels.cmake" COPYONLY)
