/// The operations that a characteristic supports (Vol 3, Part G, 3.3.1.1); mirrors `CBCharacteristicProperties`.
public struct CBCharacteristicProperties: OptionSet, Hashable, Sendable {
  public let rawValue: UInt
  public init(rawValue: UInt) { self.rawValue = rawValue }

  /// A local characteristic can have it only if the stack stores the value. The property alone broadcasts nothing.
  public static let broadcast = Self(rawValue: 0x01)
  /// The value can be read.
  public static let read = Self(rawValue: 0x02)
  /// The value can be written with Write Commands, which are not answered.
  public static let writeWithoutResponse = Self(rawValue: 0x04)
  /// The value can be written with Write Requests, which are answered.
  public static let write = Self(rawValue: 0x08)
  /// Subscribers receive notifications, which they do not confirm.
  public static let notify = Self(rawValue: 0x10)
  /// Subscribers receive indications, which they confirm.
  public static let indicate = Self(rawValue: 0x20)
  /// The value can be written with signed Write Commands.
  public static let authenticatedSignedWrites = Self(rawValue: 0x40)
  /// A local characteristic can have it only if the stack stores the value; the stack then adds the descriptor 0x2900.
  public static let extendedProperties = Self(rawValue: 0x80)
  /// Notifies centrals only on an encrypted link. If the permissions require more for a read (an authenticated key,
  /// authorization), subscribing and each notification require it as well (Vol 3, Part C, 10.3.1).
  ///
  /// ``notify`` alone requires nothing, even where reads are protected: any central can subscribe, and
  /// ``CBPeripheralManager/add(_:)`` logs a warning. On the link the property is ``notify``.
  public static let notifyEncryptionRequired = Self(rawValue: 0x100)
  /// Indicates to centrals only on an encrypted link. If the permissions require more for a read, subscribing and each
  /// indication require it as well, as for ``notifyEncryptionRequired``. On the link the property is ``indicate``.
  public static let indicateEncryptionRequired = Self(rawValue: 0x200)
}

/// The permissions to read and write an attribute; mirrors `CBAttributePermissions`, whose four members come first.
public struct CBAttributePermissions: OptionSet, Hashable, Sendable {
  public let rawValue: UInt
  public init(rawValue: UInt) { self.rawValue = rawValue }

  /// Centrals can read the value.
  public static let readable = Self(rawValue: 0x01)
  /// Centrals can write the value.
  public static let writeable = Self(rawValue: 0x02)
  /// Readable, over an encrypted link only.
  public static let readEncryptionRequired = Self(rawValue: 0x04)
  /// Writeable, over an encrypted link only.
  public static let writeEncryptionRequired = Self(rawValue: 0x08)
  /// Readable, over a link encrypted with a key that was authenticated against a man in the middle (Vol 3, Part H,
  /// 2.3.1). CoreBluetooth has no such bit.
  public static let readAuthenticationRequired = Self(rawValue: 0x1_0000)
  /// Writeable, over a link encrypted with an authenticated key. CoreBluetooth has no such bit.
  public static let writeAuthenticationRequired = Self(rawValue: 0x2_0000)
  /// Readable by centrals that ``CBPeripheralManager/setAuthorized(_:for:)`` has authorized, over a link as the other
  /// bits require it. Without other bits the link has to be encrypted, because an unencrypted link does not prove which
  /// device is at the other end. Other centrals receive Insufficient Authorization (0x08; Vol 3, Part C, 10.5).
  /// CoreBluetooth has no such bit.
  public static let readAuthorizationRequired = Self(rawValue: 0x4_0000)
  /// Writeable by authorized centrals, as above. CoreBluetooth has no such bit.
  public static let writeAuthorizationRequired = Self(rawValue: 0x8_0000)
}

/// How a central writes a characteristic; mirrors `CBCharacteristicWriteType`.
public enum CBCharacteristicWriteType: Int, Sendable {
  /// The peripheral answers the write, and the delegate receives the result.
  case withResponse = 0
  /// The peripheral does not answer; a write that does not fit is dropped.
  case withoutResponse = 1
}
