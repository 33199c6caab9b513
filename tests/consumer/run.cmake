# One step of the install test; CMakeLists.txt beside this file gives the variables.
cmake_minimum_required(VERSION 3.25)

function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
endfunction()

function(expect_version program)
  execute_process(COMMAND ${program} OUTPUT_VARIABLE output COMMAND_ERROR_IS_FATAL ANY)
  message("${output}")
  if(NOT output MATCHES "conclave ${VERSION}")
    message(FATAL_ERROR "expected 'conclave ${VERSION}' from ${program}")
  endif()
endfunction()

if(STEP STREQUAL "install")
  # Installed in one place and moved to another: no file may remember where it was.
  file(REMOVE_RECURSE ${STAGE} ${STAGE}.first)
  run(${CMAKE_COMMAND} --install ${BUILD_DIR} --config ${CONFIG} --prefix ${STAGE}.first)
  file(RENAME ${STAGE}.first ${STAGE})

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

else()
  message(FATAL_ERROR "no step '${STEP}'")
endif()
