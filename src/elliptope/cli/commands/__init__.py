"""The commands, one per file: ``configure(parser)`` adds the options, ``run(args, console)`` returns an exit code."""
