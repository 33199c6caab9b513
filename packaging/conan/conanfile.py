"""A Conan 2 recipe that builds the sources of this clone. Not tested yet.

    conan create packaging/conan
"""

import os

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy


class ConclaveConan(ConanFile):
    name = "conclave"
    version = "0.1.0"
    license = "Apache-2.0"
    description = "Distributed locks, queues and leader election on the ZooKeeper protocol, in C++20"
    settings = "os", "compiler", "build_type", "arch"
    options = {"shared": [True, False], "fPIC": [True, False]}
    default_options = {"shared": False, "fPIC": True, "boost/*:header_only": True}

    def validate(self):
        check_min_cppstd(self, 20)

    def requirements(self):
        # The public headers use Boost.Asio, so a user needs the same Boost version.
        self.requires("boost/[>=1.81 <2]", transitive_headers=True)
        self.requires("openssl/[>=3 <4]")
        self.requires("sqlite3/[>=3.37 <4]")

    def export_sources(self):
        clone = os.path.join(self.recipe_folder, "..", "..")
        for pattern in ("CMakeLists.txt", "LICENSE", "cmake/*", "include/*", "packaging/*", "src/*"):
            copy(self, pattern, src=clone, dst=self.export_sources_folder)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables.update({
            "CONCLAVE_BUILD_PROGRAM": False,
            "CONCLAVE_BUILD_TESTS": False,
            "CONCLAVE_INSTALL": True,
            "CONCLAVE_UNITY_LIBRARY": True,
        })
        toolchain.generate()
        CMakeDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        copy(self, "LICENSE", src=self.source_folder, dst=os.path.join(self.package_folder, "licenses"))
        CMake(self).install()

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "conclave")
        client = self.cpp_info.components["client"]
        client.libs = ["conclave"]
        client.requires = ["boost::headers", "openssl::openssl"]
        client.system_libs = ["pthread"]
        client.set_property("cmake_target_name", "conclave::conclave")
        client.set_property("pkg_config_name", "conclave")
        server = self.cpp_info.components["server"]
        server.libs = ["conclave-server"]
        server.requires = ["client", "sqlite3::sqlite3"]
        server.set_property("cmake_target_name", "conclave::server")
        server.set_property("pkg_config_name", "conclave-server")
