# find_package(wetdbg) gives the targets wetdbg::wetdbg (shared) and wetdbg::wetdbg_static.
include(${CMAKE_CURRENT_LIST_DIR}/wetdbgTargets.cmake)
