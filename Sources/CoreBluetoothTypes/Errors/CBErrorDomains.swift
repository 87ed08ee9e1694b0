// swift-format-ignore-file: AlwaysUseLowerCamelCase

/// The domain of ``CBError`` as an `NSError`; mirrors `CBErrorDomain`.
public let CBErrorDomain = "CBErrorDomain"
/// The domain of ``CBATTError`` as an `NSError`; mirrors `CBATTErrorDomain`.
public let CBATTErrorDomain = "CBATTErrorDomain"
