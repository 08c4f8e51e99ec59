"""One's own videos: frames from files, folders, streams and cameras; boxes to files; videos with the boxes drawn."""
