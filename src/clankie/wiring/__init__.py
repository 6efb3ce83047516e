"""The fuse box: settings in, running house out. The only room that sees both sides of a port."""
