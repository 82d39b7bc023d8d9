# fish completion for causeway. The program itself completes: "causeway complete --help".

function __causeway_complete
    set -l before (commandline -opc)
    set -l word (commandline -ct)
    # An open quote cannot be removed so.
    set -l plain (string unescape -- $word 2>/dev/null)
    and set word $plain
    set -l program (string replace -r '^~' $HOME -- $before[1])
    for line in ($program complete -- $before "$word" 2>/dev/null)
        switch $line
            case \tdirectories
                __causeway_prefix $word (__fish_complete_directories (string replace -r '^--[^=]*=' '' -- $word))
            case \tfiles \tfiles\ '*'
                __causeway_files $word (string replace -r '^\tfiles ?' '' -- $line)
            case '*'
                printf '%s\n' $line
        end
    end
end

# Files, and with a suffix only those and directories.
function __causeway_files -a word suffix
    set -l value (string replace -r '^--[^=]*=' '' -- $word)
    if test -n "$suffix"
        __causeway_prefix $word (complete -C "__fish_command_without_completions $value" | string match -r '.*(?:/|'(string escape --style=regex -- $suffix)')(?:\t.*)?$')
    else
        __causeway_prefix $word (__fish_complete_path $value)
    end
end

# A value behind "--option=" is a part of the word that fish completes.
function __causeway_prefix -a word
    set -l option (string match -r '^--[^=]*=' -- $word)
    for value in $argv[2..]
        printf '%s\n' "$option$value"
    end
end

complete -c causeway -f -a '(__causeway_complete)'
