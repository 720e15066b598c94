# SPDX-License-Identifier: GPL-3.0-or-later
# bash completion: wetdbg itself knows its verbs, options and recordings.
_wetdbg()
{
    local cur=${COMP_WORDS[COMP_CWORD]} line
    # bash takes "=" for a word of its own: --option=VALUE comes as three, without VALUE as two
    [[ $cur == = ]] && cur=
    COMPREPLY=()
    while IFS= read -r line; do
        case $line in
        '*') mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$cur") ;;
        '*.wet') mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -X '!*.wet' -- "$cur"; compgen -d -- "$cur") ;;
        *) COMPREPLY+=("$line") ;;
        esac
    done < <("${COMP_WORDS[0]}" complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o filenames -F _wetdbg wetdbg
