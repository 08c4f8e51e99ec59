"""The user's videos: frames from files, folders, streams and cameras; boxes to files; videos with boxes drawn."""
