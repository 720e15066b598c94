# Target wd_feed: an rr recording as event-queue entries.
set(feed ${CMAKE_CURRENT_LIST_DIR})
add_library(wd_feed STATIC
  ${feed}/feed.c
  ${feed}/feed_call.c
  ${feed}/feed_check.c
  ${feed}/feed_clone.c
  ${feed}/feed_cpu.c
  ${feed}/feed_digests.c
  ${feed}/feed_entry.c
  ${feed}/feed_exec.c
  ${feed}/feed_frame.c
  ${feed}/feed_ops.c
  ${feed}/feed_place.c
  ${feed}/feed_print.c
  ${feed}/feed_process.c
  ${feed}/feed_registers.c
  ${feed}/feed_select.c
  ${feed}/feed_share.c
  ${feed}/feed_sigframe.c
  ${feed}/feed_signal.c
  ${feed}/feed_space.c
  ${feed}/feed_syscall.c
  ${feed}/feed_tables.c
  ${feed}/feed_tasks.c
  ${feed}/feed_xsave.c)
target_link_libraries(wd_feed PUBLIC wd_rr_trace wd_event wd_common
  PRIVATE PkgConfig::XXHASH)
