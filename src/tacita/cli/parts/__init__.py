"""Parts that the commands share: options, output, files, the log of releases."""
