"""Files of many formats, and frames, as streams of rows."""
