"""The look of the console: tokens, parts and charts that every page is made of."""
