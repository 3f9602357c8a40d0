"""The command line, one file per group of commands. Nothing else imports it."""
