# Flags for all targets of this project. Projects that link the library do not inherit them.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON) # the layers' objects may become part of a shared library
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

add_compile_options(
  -Wall -Wextra -Wpedantic
  -Wshadow -Wconversion
  -Wno-sign-conversion # with clang, -Wconversion includes it; with g++ it does not
  -Woverloaded-virtual -Wextra-semi -Wformat=2)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options(
    -Wduplicated-cond -Wlogical-op
    # With -O2, these two warnings of g++ 12 have false positives in libstdc++ and Asio.
    -Wno-array-bounds -Wno-restrict)
  if(CONCLAVE_UNITY_LIBRARY)
    # g++ warns about unnamed types in coroutines of included files. A unity build includes all
    # sources.
    add_compile_options(-Wno-subobject-linkage)
  endif()
endif()
if(CONCLAVE_WERROR)
  add_compile_options(-Werror)
endif()

if(CONCLAVE_SANITIZE STREQUAL "address")
  # vptr, null and alignment take as much build time as all other checks together.
  set(sanitize -fsanitize=address,undefined -fno-sanitize=vptr,null,alignment
    -fno-sanitize-recover=all)
elseif(CONCLAVE_SANITIZE STREQUAL "thread")
  set(sanitize -fsanitize=thread)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-Wno-tsan) # Asio uses fences, which TSan does not model
  endif()
elseif(NOT CONCLAVE_SANITIZE STREQUAL "")
  message(FATAL_ERROR "CONCLAVE_SANITIZE is '${CONCLAVE_SANITIZE}'; it must be empty, address or thread")
endif()
if(CONCLAVE_SANITIZE)
  add_compile_options(${sanitize} -fno-omit-frame-pointer)
  add_link_options(${sanitize})
endif()

if(CONCLAVE_BUILD_FUZZERS)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "CONCLAVE_BUILD_FUZZERS needs clang (libFuzzer); try: cmake --preset fuzz")
  endif()
  # The library must be instrumented, too. Otherwise the fuzzer gets no coverage of its code.
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
