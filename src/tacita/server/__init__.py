"""The REST service: the library's verbs over HTTP, with tokens, limits and jobs. Start it with `serve`."""
