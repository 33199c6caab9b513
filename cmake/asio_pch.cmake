# conclave_use_asio_pch(target): makes a target use a precompiled header with the large Asio
# headers. This saves about 2 s for every source file that includes Asio.
#
# All targets share one precompiled header. g++ rejects a precompiled header that was compiled with
# other flags. So a target whose flags or definitions affect Asio must not use it. Asio stays
# header-only. With BOOST_ASIO_SEPARATE_COMPILATION, the library would contain a second copy of
# Asio's functions, and this copy would clash with that of its users.
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/asio_pch.cpp
  CONTENT "// A precompiled header needs a target with a source file.\n")
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
    # CMake would use -fPIE here and -fPIC in the libraries, so g++ would reject the header. Code
    # with -fPIC also works in an executable, and the header is compiled only once.
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(${target} PRIVATE -fPIC)
  endif()
  target_precompile_headers(${target} REUSE_FROM conclave_asio_pch)
endfunction()
