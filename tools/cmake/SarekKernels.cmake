# add_sarek_kernels(<target> SOURCES <files>... [TARGETS <ids>...] [POLICY <file>] [NAMESPACE <ns>] [EMBED] [EXPLAIN <format>]
#                   [OPTIONS <flags>...] [DEPENDS <files>...] [HEADER <outvar>] [PACKAGE <outvar>] [EXPLAIN_FILE <outvar>])
#
# Compiles kernel modules at build time and makes the library target <target>. Linking it gives, for each source NAME.sarek, the generated typed header
# NAME.sarek.hpp, and the runtime. With EMBED the packages are part of the program and the header's NAME::Kernels(device) finds them; without it they are
# files, whose paths PACKAGE gives, and NAME::Kernels(device, path) loads one. TARGETS are sarekc's targets; the default `host` is the CPU of this machine.
# Depfiles make rebuilds exact: a change of a source, an import, the manifest or the compiler rebuilds what depends on it, and nothing else.
# The variables named by HEADER, PACKAGE and EXPLAIN_FILE receive the lists of those files, in the order of SOURCES.
#
# The compiler is the target Sarek::sarekc, of this build or of the installed package. A cross build, or one that wants another compiler, names a program
# that runs on the build machine by the variable Sarek_EXECUTABLE.
include_guard(GLOBAL)
cmake_policy(PUSH)
cmake_policy(VERSION 3.25)

# A source file that holds the package at 64 bytes alignment, as sarek_package_SYMBOL to sarek_package_SYMBOL_end. C++, so that a project without C works.
function(_sarek_write_embedding file symbol package)
  string(REGEX REPLACE "([\\\\\"])" "\\\\\\\\\\\\\\1" package "${package}")
  file(CONFIGURE OUTPUT "${file}" @ONLY CONTENT [[
// Made by add_sarek_kernels: the package as data of the program.
asm(
    ".pushsection .rodata\n"
    ".balign 64\n"
    ".global sarek_package_@symbol@\n"
    ".type sarek_package_@symbol@, %object\n"
    "sarek_package_@symbol@:\n"
    ".incbin \"@package@\"\n"
    ".size sarek_package_@symbol@, . - sarek_package_@symbol@\n"
    ".global sarek_package_@symbol@_end\n"
    ".type sarek_package_@symbol@_end, %object\n"
    "sarek_package_@symbol@_end:\n"
    ".byte 0\n"
    ".size sarek_package_@symbol@_end, 1\n"
    ".popsection\n");
]])
endfunction()

function(add_sarek_kernels target)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "EMBED" "POLICY;NAMESPACE;EXPLAIN;HEADER;PACKAGE;EXPLAIN_FILE" "SOURCES;TARGETS;OPTIONS;DEPENDS")
  set(here "add_sarek_kernels(${target})")
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "${here}: unknown arguments: ${ARG_UNPARSED_ARGUMENTS}")
  endif()
  if(ARG_KEYWORDS_MISSING_VALUES)
    message(FATAL_ERROR "${here}: without a value: ${ARG_KEYWORDS_MISSING_VALUES}")
  endif()
  if(NOT ARG_SOURCES)
    message(FATAL_ERROR "${here}: SOURCES is missing")
  endif()
  list(LENGTH ARG_SOURCES count)
  if(DEFINED ARG_NAMESPACE AND count GREATER 1)
    message(FATAL_ERROR "${here}: NAMESPACE goes with a single source")
  endif()
  if(DEFINED ARG_NAMESPACE AND NOT ARG_NAMESPACE MATCHES "^[A-Za-z_][A-Za-z0-9_]*(::[A-Za-z_][A-Za-z0-9_]*)*$")
    message(FATAL_ERROR "${here}: ${ARG_NAMESPACE} is no C++ namespace")
  endif()
  if(DEFINED ARG_EXPLAIN AND NOT ARG_EXPLAIN MATCHES "^(text|json|sarif|html)$")
    message(FATAL_ERROR "${here}: EXPLAIN is text, json, sarif or html, not ${ARG_EXPLAIN}")
  endif()
  if(DEFINED ARG_EXPLAIN_FILE AND NOT DEFINED ARG_EXPLAIN)
    message(FATAL_ERROR "${here}: EXPLAIN_FILE goes with EXPLAIN")
  endif()
  if(NOT ARG_TARGETS)
    set(ARG_TARGETS host)
  endif()
  list(JOIN ARG_TARGETS "," targets)

  if(Sarek_EXECUTABLE)
    set(compiler "${Sarek_EXECUTABLE}")
    set(compiler_files "${Sarek_EXECUTABLE}")
  elseif(TARGET Sarek::sarekc)
    set(compiler $<TARGET_FILE:Sarek::sarekc>)
    set(compiler_files Sarek::sarekc)
    # In its own build the native backend is a module of its own, which sarekc loads: a change of it is a change of the compiler.
    if(TARGET sarek_native)
      list(APPEND compiler_files sarek_native)
    endif()
  else()
    message(FATAL_ERROR "${here}: there is no sarekc; set Sarek_EXECUTABLE")
  endif()

  set(flags --target "${targets}" ${ARG_OPTIONS})
  set(policy)
  if(DEFINED ARG_POLICY)
    get_filename_component(policy "${ARG_POLICY}" ABSOLUTE)
    list(APPEND flags --policy "${policy}")
  endif()
  set(depends)
  foreach(file IN LISTS ARG_DEPENDS)
    get_filename_component(file "${file}" ABSOLUTE)
    list(APPEND depends "${file}")
  endforeach()

  set(folder "${CMAKE_CURRENT_BINARY_DIR}/${target}.sarek")
  file(MAKE_DIRECTORY "${folder}")
  set(names)
  set(headers)
  set(packages)
  set(reports)
  set(embedded)
  foreach(source IN LISTS ARG_SOURCES)
    get_filename_component(source "${source}" ABSOLUTE)
    get_filename_component(name "${source}" NAME_WLE)
    if(name IN_LIST names)
      message(FATAL_ERROR "${here}: two sources are named ${name}; put them into libraries of their own")
    endif()
    list(APPEND names "${name}")
    # As sarekc makes it from the input's name.
    string(REGEX REPLACE "[^A-Za-z0-9_]+" "_" namespace "${name}")
    string(REGEX REPLACE "^([0-9])" "_\\1" namespace "${namespace}")
    if(DEFINED ARG_NAMESPACE)
      set(namespace "${ARG_NAMESPACE}")
    endif()
    set(package "${folder}/${name}.sarek.pkg")
    set(header "${folder}/${name}.sarek.hpp")
    set(explain)
    set(report)
    if(DEFINED ARG_EXPLAIN)
      set(report "${folder}/${name}.explain.${ARG_EXPLAIN}")
      set(explain "--explain=${ARG_EXPLAIN}" "--explain-file=${report}")
      list(APPEND reports "${report}")
    endif()
    add_custom_command(
      OUTPUT "${package}" "${header}" ${report}
      COMMAND ${compiler} "${source}" -o "${package}" --header "${header}" --namespace "${namespace}" ${flags} ${explain}
              -MD -MF "${package}.d" -MT "${package}"
      DEPENDS "${source}" ${depends} ${policy} ${compiler_files}
      DEPFILE "${package}.d"
      COMMENT "Compiling kernels ${name}.sarek for ${targets}"
      VERBATIM)
    list(APPEND headers "${header}")
    list(APPEND packages "${package}")
    if(ARG_EMBED)
      string(REPLACE ":" "_" symbol "${namespace}")
      set(embedding "${folder}/${name}.embedded.cpp")
      _sarek_write_embedding("${embedding}" "${symbol}" "${package}")
      # Link-time optimisation may move statements of assembly away from the symbols they define.
      set_source_files_properties("${embedding}" PROPERTIES OBJECT_DEPENDS "${package}" COMPILE_OPTIONS "-fno-lto" SKIP_LINTING ON)
      list(APPEND embedded "${embedding}")
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
  target_compile_features(${target} ${kind} cxx_std_20)
  if(DEFINED ARG_HEADER)
    set(${ARG_HEADER} "${headers}" PARENT_SCOPE)
  endif()
  if(DEFINED ARG_PACKAGE)
    set(${ARG_PACKAGE} "${packages}" PARENT_SCOPE)
  endif()
  if(DEFINED ARG_EXPLAIN_FILE)
    set(${ARG_EXPLAIN_FILE} "${reports}" PARENT_SCOPE)
  endif()
endfunction()

cmake_policy(POP)
