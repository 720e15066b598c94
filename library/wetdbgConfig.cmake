# find_package(wetdbg) gives the targets wetdbg::wetdbg (shared) and wetdbg::wetdbg_static. With COMPONENTS
# ctest it gives none, but has failing tests of the project tell of their critical predicate: WetdbgCTest.cmake.
list(APPEND CMAKE_MODULE_PATH ${CMAKE_CURRENT_LIST_DIR})
if("ctest" IN_LIST wetdbg_FIND_COMPONENTS)
  include(${CMAKE_CURRENT_LIST_DIR}/WetdbgCTest.cmake)
else()
  include(${CMAKE_CURRENT_LIST_DIR}/wetdbgTargets.cmake)
endif()
