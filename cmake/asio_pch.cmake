# conclave_use_asio_pch(target): gives a target a precompiled header with the heavy Asio headers
# (about 2 s less for every source file that includes Asio).
#
# One precompiled header serves all targets. g++ refuses one that was made with other flags, so a
# target that changes flags or definitions which Asio sees must do without. Asio itself stays
# header-only: with BOOST_ASIO_SEPARATE_COMPILATION the library would carry a second copy of Asio's
# functions and clash with that of its users.
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/asio_pch.cpp
  CONTENT "// Here only because a precompiled header needs a target with a source.\n")
add_library(conclave_asio_pch OBJECT EXCLUDE_FROM_ALL ${PROJECT_BINARY_DIR}/asio_pch.cpp)
target_link_libraries(conclave_asio_pch PRIVATE Boost::headers Threads::Threads)
target_precompile_headers(conclave_asio_pch PRIVATE
  <boost/asio/any_completion_handler.hpp>
  <boost/asio/associated_cancellation_slot.hpp>
  <boost/asio/async_result.hpp>
  <boost/asio/bind_executor.hpp>
  <boost/asio/dispatch.hpp>
  <boost/asio/io_context.hpp>
  <boost/asio/ip/tcp.hpp>
  <boost/asio/local/stream_protocol.hpp>
  <boost/asio/posix/stream_descriptor.hpp>
  <boost/asio/post.hpp>
  <boost/system/error_code.hpp>)

function(conclave_use_asio_pch target)
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "EXECUTABLE")
    # CMake would use -fPIE here and -fPIC in the libraries, which g++ takes for other flags.
    # PIC code is fine in an executable, and so the header is compiled once, not twice.
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(${target} PRIVATE -fPIC)
  endif()
  target_precompile_headers(${target} REUSE_FROM conclave_asio_pch)
endfunction()
