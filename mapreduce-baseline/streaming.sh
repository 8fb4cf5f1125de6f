#!/bin/sh
# Starts a streaming program (streaming-program.ts), whose words are the arguments. Records go to
# descriptor 3, which is the standard output of this script. Whatever a job prints, also by a program
# that it starts, goes to standard error, and so never becomes a record.
exec "$@" 3>&1 1>&2
