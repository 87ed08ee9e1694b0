// A client that does nothing has no state.
