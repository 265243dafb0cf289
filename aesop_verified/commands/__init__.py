"""The command `aesop`: one file for each sub-command."""
