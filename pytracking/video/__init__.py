"""Tracks users' videos: reads files, folders, streams and cameras; writes boxes and videos with the boxes drawn in."""
