# `cmake --install` installs two components:
#
#   program      the program with its manual page and completion scripts, and the systemd units
#   development  the headers, the libraries, and the files for find_package(conclave) and pkg-config
#
# Shared libraries belong to both, so they are the component `libraries`.
include(CMakePackageConfigHelpers)

set(conclave_cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/conclave)
set(conclave_pc_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

if(CONCLAVE_BUILD_PROGRAM)
  install(TARGETS conclave_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
  # The unit contains the full path of the program, which is not known before `cmake --install
  # --prefix`.
  install(CODE "
    set(bindir \"${CMAKE_INSTALL_BINDIR}\")
    if(NOT IS_ABSOLUTE \"\${bindir}\")
      set(bindir \"\${CMAKE_INSTALL_PREFIX}/\${bindir}\")
    endif()
    configure_file(\"${PROJECT_SOURCE_DIR}/packaging/conclave.service.in\"
      \"${PROJECT_BINARY_DIR}/conclave.service\" @ONLY)" COMPONENT program)
  set(CONCLAVE_SYSTEMD_UNIT_DIR lib/systemd/system CACHE STRING "Folder for the systemd units")
  install(FILES ${PROJECT_BINARY_DIR}/conclave.service packaging/conclave.socket
    DESTINATION ${CONCLAVE_SYSTEMD_UNIT_DIR} COMPONENT program)
  install(FILES packaging/conclave.sysusers RENAME conclave.conf
    DESTINATION lib/sysusers.d COMPONENT program)
endif()
if(CONCLAVE_BUILD_PROGRAM AND NOT CMAKE_CROSSCOMPILING)
  set(generated ${PROJECT_BINARY_DIR}/src/cli/generated)
  install(FILES ${generated}/conclave.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT program)
  install(FILES ${generated}/conclave.bash RENAME conclave
    DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/bash-completion/completions COMPONENT program)
  install(FILES ${generated}/_conclave
    DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/zsh/site-functions COMPONENT program)
  install(FILES ${generated}/conclave.fish
    DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/fish/vendor_completions.d COMPONENT program)
endif()

install(DIRECTORY include/conclave DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development
  FILES_MATCHING PATTERN "*.hpp" PATTERN "*.ipp")
install(TARGETS conclave conclave_server EXPORT conclave-targets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT libraries NAMELINK_COMPONENT development
  RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT libraries)
install(EXPORT conclave-targets NAMESPACE conclave:: DESTINATION ${conclave_cmake_dir}
  COMPONENT development)

configure_package_config_file(cmake/conclave-config.cmake.in
  ${PROJECT_BINARY_DIR}/conclave-config.cmake
  INSTALL_DESTINATION ${conclave_cmake_dir}
  NO_SET_AND_CHECK_MACRO)
if(PROJECT_VERSION_MAJOR EQUAL 0)
  set(compatibility SameMinorVersion)
else()
  set(compatibility SameMajorVersion)
endif()
write_basic_package_version_file(${PROJECT_BINARY_DIR}/conclave-config-version.cmake
  COMPATIBILITY ${compatibility})
install(FILES
  ${PROJECT_BINARY_DIR}/conclave-config.cmake
  ${PROJECT_BINARY_DIR}/conclave-config-version.cmake
  DESTINATION ${conclave_cmake_dir} COMPONENT development)

# The prefix in the .pc file is relative to the file, so that an installed tree can be moved.
# Distributions may set absolute folders, which are used unchanged.
if(IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR})
  set(pc_prefix ${CMAKE_INSTALL_PREFIX})
  set(pc_libdir ${CMAKE_INSTALL_LIBDIR})
else()
  file(RELATIVE_PATH up /${conclave_pc_dir} /)
  string(REGEX REPLACE "/$" "" up ${up})
  set(pc_prefix "\${pcfiledir}/${up}")
  set(pc_libdir "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
endif()
if(IS_ABSOLUTE ${CMAKE_INSTALL_INCLUDEDIR})
  set(pc_includedir ${CMAKE_INSTALL_INCLUDEDIR})
else()
  set(pc_includedir "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
endif()
# A program that links a static library must also link the dependencies of the library, even without
# `pkg-config --static`.
if(BUILD_SHARED_LIBS)
  set(pc_requires Requires.private)
  set(pc_threads "")
  set(pc_server_requires
    "Requires: conclave = ${PROJECT_VERSION}\nRequires.private: openssl >= 3.0 sqlite3 >= 3.37")
else()
  set(pc_requires Requires)
  set(pc_threads " -pthread")
  set(pc_server_requires
    "Requires: conclave = ${PROJECT_VERSION} openssl >= 3.0 sqlite3 >= 3.37")
endif()
configure_file(cmake/conclave.pc.in ${PROJECT_BINARY_DIR}/conclave.pc @ONLY)
configure_file(cmake/conclave-server.pc.in ${PROJECT_BINARY_DIR}/conclave-server.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/conclave.pc ${PROJECT_BINARY_DIR}/conclave-server.pc
  DESTINATION ${conclave_pc_dir} COMPONENT development)
