# add_sarek_kernels(<target> SOURCES <files>... [TARGETS <ids>...] [POLICY <file>] [NAMESPACE <ns>] [EMBED] [EXPLAIN <format>]
#                   [OPTIONS <flags>...] [DEPENDS <files>...] [HEADER <outvar>] [PACKAGE <outvar>] [EXPLAIN_FILE <outvar>])
#
# Compiles kernel modules at build time and makes the library target <target>: linking it gives the generated typed header NAME.sarek.hpp of each
# source NAME.sarek, and the runtime. With EMBED the packages are part of the program and NAME::Kernels(device) finds them; without it the package
# files stand in the build folder and NAME::Kernels(device, path) loads one. TARGETS are sarekc's (default `host`). Depfiles make rebuilds exact.
# The variables named by HEADER, PACKAGE and EXPLAIN_FILE receive the lists of those files.
#
# A cross build names a compiler that runs on the host by the cache variable Sarek_EXECUTABLE.
include_guard()

function(add_sarek_kernels target)
  cmake_parse_arguments(ARG "EMBED" "POLICY;NAMESPACE;EXPLAIN;HEADER;PACKAGE;EXPLAIN_FILE" "SOURCES;TARGETS;OPTIONS;DEPENDS" ${ARGN})
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "add_sarek_kernels(${target}): unknown arguments: ${ARG_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT ARG_SOURCES)
    message(FATAL_ERROR "add_sarek_kernels(${target}): SOURCES is empty")
  endif()
  if(ARG_NAMESPACE)
    list(LENGTH ARG_SOURCES count)
    if(count GREATER 1)
      message(FATAL_ERROR "add_sarek_kernels(${target}): NAMESPACE needs a single source")
    endif()
  endif()
  if(NOT ARG_TARGETS)
    set(ARG_TARGETS host)
  endif()
  list(JOIN ARG_TARGETS "," targets)

  if(DEFINED Sarek_EXECUTABLE)
    set(sarekc "${Sarek_EXECUTABLE}")
    set(sarekc_dependency)
  elseif(TARGET Sarek::sarekc)
    set(sarekc $<TARGET_FILE:Sarek::sarekc>)
    set(sarekc_dependency Sarek::sarekc)
  else()
    message(FATAL_ERROR "add_sarek_kernels(${target}): there is no sarekc; set Sarek_EXECUTABLE")
  endif()
  # The native backend is a module that sarekc loads: it belongs to what the command runs.
  if(TARGET sarek_native)
    list(APPEND sarekc_dependency sarek_native)
  endif()

  set(flags ${ARG_OPTIONS})
  if(ARG_POLICY)
    get_filename_component(policy "${ARG_POLICY}" ABSOLUTE)
    list(APPEND flags --policy "${policy}")
  endif()

  set(folder "${CMAKE_CURRENT_BINARY_DIR}/${target}.sarek")
  file(MAKE_DIRECTORY "${folder}")
  set(headers)
  set(packages)
  set(reports)
  set(embedded)
  foreach(source IN LISTS ARG_SOURCES)
    get_filename_component(source "${source}" ABSOLUTE)
    get_filename_component(name "${source}" NAME_WLE)
    set(package "${folder}/${name}.sarek.pkg")
    set(header "${folder}/${name}.sarek.hpp")
    set(depfile "${folder}/${name}.d")
    set(explain)
    set(report)
    if(ARG_EXPLAIN)
      set(report "${folder}/${name}.explain.${ARG_EXPLAIN}")
      set(explain "--explain=${ARG_EXPLAIN}" "--explain-file=${report}")
      list(APPEND reports "${report}")
    endif()
    set(namespace)
    if(ARG_NAMESPACE)
      set(namespace --namespace "${ARG_NAMESPACE}")
    endif()
    add_custom_command(
      OUTPUT "${package}" "${header}" ${report}
      COMMAND ${sarekc} "${source}" -o "${package}" --header "${header}" ${namespace} --target "${targets}" ${flags} ${explain} -MD -MF "${depfile}" -MT "${package}"
      DEPENDS "${source}" ${ARG_DEPENDS} ${policy} ${sarekc_dependency}
      DEPFILE "${depfile}"
      COMMENT "sarekc ${name}.sarek"
      VERBATIM)
    list(APPEND headers "${header}")
    list(APPEND packages "${package}")
    if(ARG_EMBED)
      string(MAKE_C_IDENTIFIER "${name}" symbol)
      if(ARG_NAMESPACE)
        string(MAKE_C_IDENTIFIER "${ARG_NAMESPACE}" symbol)
      endif()
      set(assembly "${folder}/${name}.S")
      file(CONFIGURE OUTPUT "${assembly}" @ONLY CONTENT [[
  .section .rodata
  .balign 64
  .global sarek_package_@symbol@
  .type sarek_package_@symbol@, STT_OBJECT
sarek_package_@symbol@:
  .incbin "@package@"
  .global sarek_package_@symbol@_end
sarek_package_@symbol@_end:
  .section .note.GNU-stack,"",%progbits
]])
      set_source_files_properties("${assembly}" PROPERTIES OBJECT_DEPENDS "${package}" LANGUAGE C COMPILE_OPTIONS "-xassembler-with-cpp")
      list(APPEND embedded "${assembly}")
    endif()
  endforeach()

  add_custom_target(${target}_kernels DEPENDS ${headers} ${packages} ${reports})
  if(ARG_EMBED)
    add_library(${target} STATIC ${embedded})
    set(kind PUBLIC)
  else()
    add_library(${target} INTERFACE)
    set(kind INTERFACE)
  endif()
  add_dependencies(${target} ${target}_kernels)
  target_include_directories(${target} ${kind} "${folder}")
  target_link_libraries(${target} ${kind} Sarek::runtime)
  foreach(pair IN ITEMS "HEADER;headers" "PACKAGE;packages" "EXPLAIN_FILE;reports")
    list(GET pair 0 keyword)
    list(GET pair 1 variable)
    if(ARG_${keyword})
      set(${ARG_${keyword}} "${${variable}}" PARENT_SCOPE)
    endif()
  endforeach()
endfunction()
