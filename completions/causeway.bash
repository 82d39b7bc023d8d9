# bash completion for causeway. The program itself completes: "causeway complete --help".

_causeway() {
    local line request program=${1/#\~/$HOME}
    COMPREPLY=()
    while IFS= read -r line; do
        if [[ $line == $'\t'* ]]; then
            request=${line#?}
            continue
        fi
        COMPREPLY+=("${line%%$'\t'*}")
        # A value follows in the same word.
        [[ ${COMPREPLY[-1]} != *[:=] ]] || compopt -o nospace
    done < <("$program" complete --line="${COMP_LINE:0:COMP_POINT}" -- "$2" 2>/dev/null)
    case $request in
    files) compopt -o default ;;
    files\ *)
        compopt -o filenames -o plusdirs
        while IFS= read -r line; do
            COMPREPLY+=("$line")
        done < <(compgen -f -X "!*${request#files }" -- "$2")
        ;;
    directories) compopt -o dirnames ;;
    esac
}

complete -F _causeway causeway
