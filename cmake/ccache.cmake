# Compiles with ccache if it is installed and no other launcher is given. ccache only stores units
# with a precompiled header if these options are set.
find_program(CONCLAVE_CCACHE ccache)
mark_as_advanced(CONCLAVE_CCACHE)
if(CONCLAVE_CCACHE AND PROJECT_IS_TOP_LEVEL AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER
    ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${CONCLAVE_CCACHE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)
  endif()
endif()
