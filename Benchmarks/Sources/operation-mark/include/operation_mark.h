// The library has no functions of its own.
