# version.hpp is written by hand, so that it can be used without CMake. This check fails if it
# differs from project(VERSION).
set(version_header ${PROJECT_SOURCE_DIR}/include/conclave/version.hpp)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${version_header})
file(READ ${version_header} version_text)

set(header_version "")
foreach(part MAJOR MINOR PATCH)
  if(NOT version_text MATCHES "#define CONCLAVE_VERSION_${part} +([0-9]+)")
    message(FATAL_ERROR "${version_header} does not define CONCLAVE_VERSION_${part}")
  endif()
  list(APPEND header_version ${CMAKE_MATCH_1})
endforeach()
list(JOIN header_version "." header_version)

if(NOT header_version VERSION_EQUAL PROJECT_VERSION)
  message(FATAL_ERROR
    "the version is ${PROJECT_VERSION} in CMakeLists.txt, but ${header_version} in ${version_header}")
endif()
if(version_text MATCHES "version = \"([^\"]*)\"" AND NOT CMAKE_MATCH_1 STREQUAL PROJECT_VERSION)
  message(FATAL_ERROR
    "the version is ${PROJECT_VERSION} in CMakeLists.txt, but the string in ${version_header} is "
    "\"${CMAKE_MATCH_1}\"")
endif()
