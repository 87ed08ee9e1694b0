// `stdout` is a variable of the C library, which the program changes nowhere else.
@preconcurrency import Glibc

/// Has each line that is printed written at once, if standard output is a pipe or a file, too.
func writeLinesAtOnce() { setvbuf(stdout, nil, _IOLBF, 0) }
