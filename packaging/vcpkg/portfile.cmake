# An overlay port that builds the sources of this clone. Not tested yet.
#
#   vcpkg install conclave --overlay-ports=packaging/vcpkg
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../.." ABSOLUTE)

vcpkg_check_features(OUT_FEATURE_OPTIONS features FEATURES program CONCLAVE_BUILD_PROGRAM)
vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS ${features}
    -DCMAKE_CXX_COMPILER_LAUNCHER=
    -DCONCLAVE_BUILD_TESTS=OFF
    -DCONCLAVE_INSTALL=ON
    -DCONCLAVE_UNITY_LIBRARY=ON)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/conclave)
vcpkg_fixup_pkgconfig()
if("program" IN_LIST FEATURES)
  vcpkg_copy_tools(TOOL_NAMES conclave AUTO_CLEAN)
endif()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share"
  "${CURRENT_PACKAGES_DIR}/debug/lib/systemd" "${CURRENT_PACKAGES_DIR}/debug/lib/sysusers.d"
  "${CURRENT_PACKAGES_DIR}/lib/systemd" "${CURRENT_PACKAGES_DIR}/lib/sysusers.d")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
