# `cpack` in the build folder makes wetdbg_VERSION_amd64.deb. What it depends on is found out by
# dpkg-shlibdeps (Debian: dpkg-dev), but for rr, which is a program.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME wetdbg)
if(NOT CPACK_PACKAGE_CONTACT)
  set(CPACK_PACKAGE_CONTACT "wetdbg developers <wetdbg@localhost>")
endif()
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "record, replay and slice failing programs")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
"wetdbg records a failing run of a C or C++ program with rr, replays it under
binary translation, and keeps a whole execution trace: control flow, addresses,
values and dependences of every instruction that was executed. Backward slices
lead from the crash or the wrong byte of output to the lines that made it so.")
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "rr (>= 5.6)")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS gdb)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
include(CPack)

# In folders as in the sources, so that the pages' links lead somewhere.
install(FILES README.md HACKING.md packaging/copyright DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/wetdbg)
install(FILES docs/tutorial.md docs/architecture.md docs/format.md docs/glossary.md docs/harnesses.md docs/library.md docs/locate-report.png
  DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/wetdbg/docs)
install(DIRECTORY docs/architecture docs/schemas DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/wetdbg/docs)
configure_file(packaging/changelog packaging/changelog COPYONLY)
add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/packaging/changelog.gz
  COMMAND gzip -9nkf changelog DEPENDS ${PROJECT_BINARY_DIR}/packaging/changelog
  WORKING_DIRECTORY ${PROJECT_BINARY_DIR}/packaging VERBATIM)
add_custom_target(wd_changelog ALL DEPENDS ${PROJECT_BINARY_DIR}/packaging/changelog.gz)
install(FILES ${PROJECT_BINARY_DIR}/packaging/changelog.gz DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/wetdbg)
