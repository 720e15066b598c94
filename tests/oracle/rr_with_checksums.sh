#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Stands in for rr (WETDBG_RR): records with a checksum of every mapping at every event.
exec rr -C on-all-events "$@"
