// Of wasi-libc, without its headers: the width of a character on a terminal.
int wcwidth(int character);
