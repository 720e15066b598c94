#compdef wetdbg
# SPDX-License-Identifier: GPL-3.0-or-later
# zsh completion: wetdbg itself knows its verbs, options and recordings.
local -a offers
local line word=${words[CURRENT]}
# --option=VALUE is two words for wetdbg
if [[ $word == --*=* ]]; then
    compset -P '*='
    offers=(${(f)"$("${words[1]}" complete "${(@)words[2,CURRENT-1]}" "${word%%=*}" "${word#*=}" 2>/dev/null)"})
else
    offers=(${(f)"$("${words[1]}" complete "${(@)words[2,CURRENT-1]}" "$word" 2>/dev/null)"})
fi
local -a offered
for line in $offers; do
    case $line in
        '*') _files ;;
        '*.wet') _files -g '*.wet' ;;
        *) offered+=("$line") ;;
    esac
done
(( $#offered )) && compadd -- $offered
