"""The pages of the console, one file for each subject. A file here is found by itself."""
