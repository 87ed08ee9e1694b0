// swift-format-ignore-file: AlwaysUseLowerCamelCase

/// The domain of ``BluetoothError`` as an `NSError`; mirrors `CBErrorDomain`.
public let BluetoothErrorDomain = "CBErrorDomain"
/// The domain of ``ATTError`` as an `NSError`; mirrors `CBATTErrorDomain`.
public let ATTErrorDomain = "CBATTErrorDomain"
