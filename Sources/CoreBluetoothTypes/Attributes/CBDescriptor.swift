public import Foundation
import Synchronization

/// A descriptor, local or found on a peripheral; mirrors `CBDescriptor`.
///
/// The lock is `contents`.
open class CBDescriptor: CBAttribute, @unchecked Sendable {
  private let contents: Mutex<Contents>

  private struct Contents {
    weak var characteristic: CBCharacteristic?
    var value: DescriptorValue
  }

  init(type: CBUUID, value: DescriptorValue) {
    contents = Mutex(Contents(value: value))
    super.init(type: type)
  }

  /// The characteristic that contains it; nil if the characteristic no longer exists or it was never added to one.
  open internal(set) var characteristic: CBCharacteristic! {
    get { contents.withLock { $0.characteristic } }
    set { contents.withLock { $0.characteristic = newValue } }
  }

  /// The value in the type of the descriptor: a `String` for 0x2901, without the padding of its field, an `NSNumber`
  /// for 0x2900, 0x2902 and 0x2903, otherwise `Data`.
  open var value: Any? { contents.withLock { $0.value }.object }

  final var held: DescriptorValue {
    get { contents.withLock { $0.value } }
    set { contents.withLock { $0.value = newValue } }
  }
}

/// A descriptor to publish; mirrors `CBMutableDescriptor`.
///
/// As in CoreBluetooth, an application can create only two types: 0x2901 (Characteristic User Description, a `String`)
/// and 0x2904 (Characteristic Presentation Format, `Data` of 7 octets). The stack creates 0x2900 and 0x2902 itself,
/// from the characteristic's properties. Create any other type with ``init(type:storedValue:length:permissions:)``.
///
/// Immutable except for the state that the lock of ``CBDescriptor`` protects.
open class CBMutableDescriptor: CBDescriptor, @unchecked Sendable {
  let permissions: CBAttributePermissions
  let storedLengths: ClosedRange<Int>?
  /// Made by the typed initialiser, which allows what CoreBluetooth does not.
  let isCustom: Bool

  /// Creates a descriptor with a constant value.
  public init(type UUID: CBUUID, value: Any?) {
    permissions = .readable
    storedLengths = nil
    isCustom = false
    super.init(type: UUID, value: DescriptorValue(value))
  }

  /// Creates a descriptor of any type that the stack does not create itself, with its own permissions. CoreBluetooth
  /// has no such initializer. The stack stores the value; if `permissions` let a central write it,
  /// ``CBPeripheralManagerDelegate/peripheralManager(_:central:didStoreValueOf:)`` reports each write.
  ///
  /// - Parameter length: the lengths that the value may have after a write, in octets; at most 512.
  public init(
    type UUID: CBUUID, storedValue: Data, length: ClosedRange<Int> = 0...512,
    permissions: CBAttributePermissions = .readable
  ) {
    self.permissions = permissions
    storedLengths = length
    isCustom = true
    super.init(type: UUID, value: .data(storedValue))
  }
}

/// The value of a descriptor, because `Any?` cannot be sent between threads.
enum DescriptorValue: Sendable {
  case none
  case text(String)
  case data(Data)
  case number(Int)
  /// A value of a type that no descriptor has; the name of the type, for the error.
  case unsupported(String)

  init(_ value: Any?) {
    switch value {
    case nil: self = .none
    case let text as String: self = .text(text)
    case let text as NSString: self = .text(String(describing: text))
    case let data as Data: self = .data(data)
    case let data as NSData: self = .data(Data(referencing: data))
    case let octets as [UInt8]: self = .data(Data(octets))
    case let number as NSNumber: self = .number(number.intValue)
    case let number as any BinaryInteger: self = .number(Int(truncatingIfNeeded: number))
    case let other?: self = .unsupported("\(Swift.type(of: other))")
    }
  }

  var object: Any? {
    switch self {
    case .none, .unsupported: nil
    case .text(let text): text
    case .data(let data): data
    case .number(let number): NSNumber(value: number)
    }
  }

  /// The octets as they are sent: UTF-8 for text, two octets for a number.
  var octets: [UInt8]? {
    switch self {
    case .none, .unsupported: nil
    case .text(let text): Array(text.utf8)
    case .data(let data): Array(data)
    case .number(let number): [UInt8(truncatingIfNeeded: number), UInt8(truncatingIfNeeded: number >> 8)]
    }
  }
}
