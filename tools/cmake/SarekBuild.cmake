# Functions that every folder's CMakeLists.txt uses: a library, its unit tests, and the flags both are built with.
# The contract of numerics.md begins here: no contraction and no fast-math in our own code either.
include_guard()

add_library(sarek_flags INTERFACE)
target_compile_options(sarek_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor -Woverloaded-virtual
  -Werror=switch-enum -Werror=return-type -ffp-contract=off -fno-fast-math)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 reports string concatenation as overlapping copies (GCC bug 105651).
  target_compile_options(sarek_flags INTERFACE -Wno-restrict)
endif()
if(SAREK_WERROR)
  target_compile_options(sarek_flags INTERFACE -Werror)
endif()
if(SAREK_SANITIZE)
  add_compile_options(-fsanitize=${SAREK_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${SAREK_SANITIZE})
endif()
target_include_directories(sarek_flags INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)

# sarek_library(NAME SOURCES f.cpp... [DEPS target...] [PRIVATE_DEPS target...] [HEADER_PACKAGES target...])
# A static library `sarek_NAME`. Include paths are relative to the repository: "compiler/ir/node.h".
# HEADER_PACKAGES are foreign libraries of headers alone, seen by this library's own sources only.
function(sarek_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS;PRIVATE_DEPS;HEADER_PACKAGES" ${ARGN})
  # However it is given: the installed package must not ask its users for the JSON reader.
  if("nlohmann_json::nlohmann_json" IN_LIST ARG_PRIVATE_DEPS)
    list(REMOVE_ITEM ARG_PRIVATE_DEPS nlohmann_json::nlohmann_json)
    list(APPEND ARG_HEADER_PACKAGES nlohmann_json::nlohmann_json)
  endif()
  if(ARG_SOURCES)
    add_library(sarek_${name} STATIC ${ARG_SOURCES})
    target_link_libraries(sarek_${name} PUBLIC ${ARG_DEPS} PRIVATE ${ARG_PRIVATE_DEPS})
    # Not linked: what is linked privately to a static library is part of the exported package.
    target_compile_options(sarek_${name} PRIVATE $<TARGET_PROPERTY:sarek_flags,INTERFACE_COMPILE_OPTIONS>)
    foreach(package IN LISTS ARG_HEADER_PACKAGES)
      target_include_directories(sarek_${name} SYSTEM PRIVATE $<TARGET_PROPERTY:${package},INTERFACE_INCLUDE_DIRECTORIES>)
    endforeach()
    target_include_directories(sarek_${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)
  else()
    add_library(sarek_${name} INTERFACE)
    target_link_libraries(sarek_${name} INTERFACE ${ARG_DEPS})
    target_include_directories(sarek_${name} INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)
  endif()
endfunction()

# sarek_unit_tests(NAME SOURCES f_test.cpp... [DEPS target...] [LABELS label...])
# One Catch2 program `NAME_test`; each test case is a ctest test named "NAME: <test case>".
function(sarek_unit_tests name)
  if(NOT SAREK_BUILD_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS;LABELS" ${ARGN})
  add_executable(${name}_test ${ARG_SOURCES})
  target_link_libraries(${name}_test PRIVATE ${ARG_DEPS} Catch2::Catch2WithMain $<BUILD_INTERFACE:sarek_flags>)
  target_compile_definitions(${name}_test PRIVATE SAREK_SOURCE_DIR="${PROJECT_SOURCE_DIR}" SAREK_BINARY_DIR="${PROJECT_BINARY_DIR}")
  list(APPEND ARG_LABELS unit)
  catch_discover_tests(${name}_test TEST_PREFIX "${name}: " DISCOVERY_MODE PRE_TEST PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT 300
                       SKIP_RETURN_CODE 4)
endfunction()

# sarek_python_tests(LABEL [TIMEOUT seconds])
# Each test method of the *_test.py files of this folder is a ctest test of its own, "LABEL: Class.test_method", so that they run in parallel and are named
# one by one. tests/cli/harness.py is their base.
function(sarek_python_tests label)
  cmake_parse_arguments(ARG "" "TIMEOUT" "" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  file(GLOB scripts CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*_test.py")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${scripts})
  foreach(script IN LISTS scripts)
    file(STRINGS "${script}" lines REGEX "^(class [A-Za-z0-9_]+|  +def test_[a-z0-9_]+)")
    set(class)
    foreach(line IN LISTS lines)
      if(line MATCHES "^class ([A-Za-z0-9_]+)")
        set(class ${CMAKE_MATCH_1})
      elseif(line MATCHES "def (test_[a-z0-9_]+)")
        set(method ${class}.${CMAKE_MATCH_1})
        add_test(NAME "${label}: ${method}" COMMAND Python3::Interpreter "${script}" --sarekc $<TARGET_FILE:sarekc> ${method})
        set_tests_properties("${label}: ${method}" PROPERTIES SKIP_RETURN_CODE 77 LABELS ${label} TIMEOUT ${ARG_TIMEOUT})
      endif()
    endforeach()
  endforeach()
endfunction()

# Adds each folder that has a CMakeLists.txt; a folder without one has nothing to build yet.
function(sarek_add_folders)
  foreach(folder IN LISTS ARGN)
    if(EXISTS "${PROJECT_SOURCE_DIR}/${folder}/CMakeLists.txt")
      add_subdirectory("${PROJECT_SOURCE_DIR}/${folder}" "${PROJECT_BINARY_DIR}/${folder}")
    endif()
  endforeach()
endfunction()
