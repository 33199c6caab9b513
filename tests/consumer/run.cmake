# One step of the install test; CMakeLists.txt in this folder sets the variables.
cmake_minimum_required(VERSION 3.25)

function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
endfunction()

function(expect_version program)
  execute_process(COMMAND ${program} ${ARGN} OUTPUT_VARIABLE output COMMAND_ERROR_IS_FATAL ANY)
  message("${output}")
  if(NOT output MATCHES "conclave ${VERSION}")
    message(FATAL_ERROR "expected 'conclave ${VERSION}' from ${program}")
  endif()
endfunction()

if(STEP STREQUAL "install")
  # Installed and then moved: no file may contain the old path.
  file(REMOVE_RECURSE ${STAGE} ${STAGE}.first)
  run(${CMAKE_COMMAND} --install ${BUILD_DIR} --config ${CONFIG} --prefix ${STAGE}.first)
  file(RENAME ${STAGE}.first ${STAGE})
  # Except the systemd unit, which must contain a full path.
  file(STRINGS ${STAGE}/lib/systemd/system/conclave.service unit)
  if(NOT "ExecStart=${STAGE}.first/bin/conclave serve --system" IN_LIST unit)
    message(FATAL_ERROR "the unit does not start the installed program")
  endif()

elseif(STEP STREQUAL "partial_build")
  # Files that are installed with the program must exist when the program is built, because
  # `make demo` builds only the program.
  execute_process(COMMAND ninja -C ${BUILD_DIR} -t commands conclave_cli
    OUTPUT_VARIABLE commands COMMAND_ERROR_IS_FATAL ANY)
  foreach(file IN ITEMS conclave.1 conclave.bash _conclave conclave.fish)
    if(NOT commands MATCHES "generated/${file}")
      message(FATAL_ERROR "building conclave_cli does not make ${file}")
    endif()
  endforeach()

elseif(STEP STREQUAL "find_package")
  set(build ${WORK_DIR}/find_package)
  file(REMOVE_RECURSE ${build})
  run(${CMAKE_COMMAND} -G Ninja -S ${CMAKE_CURRENT_LIST_DIR}/find_package -B ${build}
    -D CMAKE_PREFIX_PATH=${STAGE} -D CMAKE_CXX_COMPILER=${CXX}
    -D expected_prefix=${STAGE} -D expected_version=${VERSION})
  run(${CMAKE_COMMAND} --build ${build})
  expect_version(${build}/consumer)

elseif(STEP STREQUAL "pkg_config")
  set(build ${WORK_DIR}/pkg_config)
  file(REMOVE_RECURSE ${build})
  file(MAKE_DIRECTORY ${build})
  set(ENV{PKG_CONFIG_PATH} ${STAGE}/${LIBDIR}/pkgconfig)
  set(ENV{LD_LIBRARY_PATH} ${STAGE}/${LIBDIR})
  run(make -C ${CMAKE_CURRENT_LIST_DIR}/pkg_config CXX=${CXX} OUT=${build})
  expect_version(${build}/consumer)
  expect_version(${build}/consumer-static)

elseif(STEP MATCHES "^(add_subdirectory|fetch_content)$")
  # Only configured, because compiling the library again takes minutes. ninja -n checks that all
  # sources exist.
  set(build ${WORK_DIR}/${STEP})
  file(REMOVE_RECURSE ${build})
  if(STEP STREQUAL "add_subdirectory")
    set(use -D USE=add_subdirectory)
  else()
    set(use -D USE=FetchContent -D BUILD_SHARED_LIBS=ON -D CONCLAVE_INSTALL=ON)
  endif()
  run(${CMAKE_COMMAND} -G Ninja -S ${CMAKE_CURRENT_LIST_DIR}/source_tree -B ${build}
    -D SOURCE=${SOURCE_DIR} -D CMAKE_CXX_COMPILER=${CXX} ${use})
  run(ninja -C ${build} -n --quiet consumer)
  if(STEP STREQUAL "fetch_content")
    # A program that links shared libraries does not link their dependencies.
    file(READ ${build}/_deps/conclave-build/conclave.pc pc)
    file(READ ${build}/_deps/conclave-build/conclave-config.cmake config)
    if(NOT pc MATCHES "Requires.private: openssl" OR config MATCHES "if\\(NOT \"OFF\"\\)")
      message(FATAL_ERROR "shared libraries must not make their users link OpenSSL")
    endif()
  endif()

elseif(STEP STREQUAL "dist")
  # The tarball for machines without packages: installed, used and removed.
  set(work ${WORK_DIR}/dist)
  file(REMOVE_RECURSE ${work})
  run(${SOURCE_DIR}/tools/make-dist ${BUILD_DIR} ${work})
  file(GLOB tarball ${work}/conclave-${VERSION}-*.tar.gz)
  file(ARCHIVE_EXTRACT INPUT ${tarball} DESTINATION ${work}/unpacked)
  file(GLOB unpacked ${work}/unpacked/conclave-*)
  set(prefix ${work}/prefix)
  run(${unpacked}/install.sh --prefix ${prefix})
  expect_version(${prefix}/bin/conclave --version)
  file(STRINGS ${prefix}/lib/systemd/system/conclave.service unit)
  if(NOT "ExecStart=${prefix}/bin/conclave serve --system" IN_LIST unit)
    message(FATAL_ERROR "the unit does not start the installed program")
  endif()
  run(${unpacked}/install.sh --prefix ${prefix} --uninstall)
  file(GLOB_RECURSE left LIST_DIRECTORIES true ${prefix}/*)
  if(left)
    message(FATAL_ERROR "install.sh --uninstall has left ${left}")
  endif()

else()
  message(FATAL_ERROR "no step '${STEP}'")
endif()
