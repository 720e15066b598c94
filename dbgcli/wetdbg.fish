# SPDX-License-Identifier: GPL-3.0-or-later
# fish completion: wetdbg itself knows its verbs, options and recordings.
function __wetdbg_offers
    set -l before (commandline -opc)
    set -l typed (commandline -ct)
    set -l prefix
    # --option=VALUE is two words for wetdbg, and one that fish completes as a whole
    if string match -qr '^--[^=]*=' -- $typed
        set -l parts (string split -m 1 = -- $typed)
        set before $before $parts[1]
        set prefix $parts[1]=
        set typed "$parts[2]"
    end
    for line in ($before[1] complete $before[2..-1] "$typed" 2>/dev/null)
        switch $line
            case '\*'
                string replace -r '^' -- "$prefix" (__fish_complete_path "$typed")
            case '\*.wet'
                string replace -r '^' -- "$prefix" (__fish_complete_suffix --complete="$typed" .wet)
            case '*'
                printf "%s\n" "$prefix$line" # echo would take -e for its own
        end
    end
end
complete -c wetdbg -f -a '(__wetdbg_offers)'
