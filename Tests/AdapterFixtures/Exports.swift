@_exported public import BLETesting
