# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_transom_global_optspecs
    string join \n h/help V/version
end

function __fish_transom_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_transom_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_transom_using_subcommand
    set -l cmd (__fish_transom_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c transom -n "__fish_transom_needs_command" -s h -l help -d 'Print help'
complete -c transom -n "__fish_transom_needs_command" -s V -l version -d 'Print version'
complete -c transom -n "__fish_transom_needs_command" -f -a "run" -d 'Start the compositor'
complete -c transom -n "__fish_transom_needs_command" -f -a "screenshot" -d 'Save what a running compositor shows as a PNG file'
complete -c transom -n "__fish_transom_needs_command" -f -a "msg" -d 'Ask a running compositor, or tell it what to do'
complete -c transom -n "__fish_transom_needs_command" -f -a "doctor" -d 'Say what this machine offers to the compositor, and what to do about what it lacks'
complete -c transom -n "__fish_transom_using_subcommand run" -l backend -d 'Where outputs and input come from' -r -f -a "auto\t'In a window where WAYLAND_DISPLAY or DISPLAY is set, else headless'
headless\t'Outputs without a screen'
nested\t'A window of another desktop'"
complete -c transom -n "__fish_transom_using_subcommand run" -l output -d 'An output\'s size and rate, e.g. 1920x1080@60; once for each headless output, or the window\'s size' -r
complete -c transom -n "__fish_transom_using_subcommand run" -l config -d 'The configuration file, before $TRANSOM_CONFIG and $XDG_CONFIG_HOME/transom/compositor.toml' -r -F
complete -c transom -n "__fish_transom_using_subcommand run" -l socket -d 'The Wayland socket\'s name in $XDG_RUNTIME_DIR [default: the first free wayland-N, N from 1]' -r
complete -c transom -n "__fish_transom_using_subcommand run" -l device -d 'Part of the Vulkan device\'s name, before the configuration\'s' -r
complete -c transom -n "__fish_transom_using_subcommand run" -l exit-with-child -d 'End when COMMAND ends, with its exit status'
complete -c transom -n "__fish_transom_using_subcommand run" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c transom -n "__fish_transom_using_subcommand screenshot" -l output -d 'One output by its name, instead of all as they lie on the desktop' -r
complete -c transom -n "__fish_transom_using_subcommand screenshot" -l part -d 'A part, in pixels of the whole picture' -r
complete -c transom -n "__fish_transom_using_subcommand screenshot" -l json -d 'Print the picture\'s size as JSON'
complete -c transom -n "__fish_transom_using_subcommand screenshot" -s h -l help -d 'Print help'
complete -c transom -n "__fish_transom_using_subcommand msg; and not __fish_seen_subcommand_from outputs windows stats reload quit action" -l json -d 'Print the answer as JSON, in the documented form'
complete -c transom -n "__fish_transom_using_subcommand msg; and not __fish_seen_subcommand_from outputs windows stats reload quit action" -s h -l help -d 'Print help'
complete -c transom -n "__fish_transom_using_subcommand msg; and not __fish_seen_subcommand_from outputs windows stats reload quit action" -f -a "outputs" -d 'List the outputs'
complete -c transom -n "__fish_transom_using_subcommand msg; and not __fish_seen_subcommand_from outputs windows stats reload quit action" -f -a "windows" -d 'List the windows, the one focused last first'
complete -c transom -n "__fish_transom_using_subcommand msg; and not __fish_seen_subcommand_from outputs windows stats reload quit action" -f -a "stats" -d 'Count frames and what they cost'
complete -c transom -n "__fish_transom_using_subcommand msg; and not __fish_seen_subcommand_from outputs windows stats reload quit action" -f -a "reload" -d 'Read the configuration again'
complete -c transom -n "__fish_transom_using_subcommand msg; and not __fish_seen_subcommand_from outputs windows stats reload quit action" -f -a "quit" -d 'End the compositor'
complete -c transom -n "__fish_transom_using_subcommand msg; and not __fish_seen_subcommand_from outputs windows stats reload quit action" -f -a "action" -d 'Do what a key binding can, e.g. `action toggle-fullscreen 3`'
complete -c transom -n "__fish_transom_using_subcommand msg; and __fish_seen_subcommand_from outputs" -l json -d 'Print the answer as JSON, in the documented form'
complete -c transom -n "__fish_transom_using_subcommand msg; and __fish_seen_subcommand_from outputs" -s h -l help -d 'Print help'
complete -c transom -n "__fish_transom_using_subcommand msg; and __fish_seen_subcommand_from windows" -l json -d 'Print the answer as JSON, in the documented form'
complete -c transom -n "__fish_transom_using_subcommand msg; and __fish_seen_subcommand_from windows" -s h -l help -d 'Print help'
complete -c transom -n "__fish_transom_using_subcommand msg; and __fish_seen_subcommand_from stats" -l json -d 'Print the answer as JSON, in the documented form'
complete -c transom -n "__fish_transom_using_subcommand msg; and __fish_seen_subcommand_from stats" -s h -l help -d 'Print help'
complete -c transom -n "__fish_transom_using_subcommand msg; and __fish_seen_subcommand_from reload" -l json -d 'Print the answer as JSON, in the documented form'
complete -c transom -n "__fish_transom_using_subcommand msg; and __fish_seen_subcommand_from reload" -s h -l help -d 'Print help'
complete -c transom -n "__fish_transom_using_subcommand msg; and __fish_seen_subcommand_from quit" -l json -d 'Print the answer as JSON, in the documented form'
complete -c transom -n "__fish_transom_using_subcommand msg; and __fish_seen_subcommand_from quit" -s h -l help -d 'Print help'
complete -c transom -n "__fish_transom_using_subcommand msg; and __fish_seen_subcommand_from action" -l json -d 'Print the answer as JSON, in the documented form'
complete -c transom -n "__fish_transom_using_subcommand msg; and __fish_seen_subcommand_from action" -s h -l help -d 'Print help'
complete -c transom -n "__fish_transom_using_subcommand doctor" -l json -d 'Print as JSON'
complete -c transom -n "__fish_transom_using_subcommand doctor" -s h -l help -d 'Print help'
