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

  /// The characteristic it belongs to; nil when that is gone or it was never put into one.
  open internal(set) var characteristic: CBCharacteristic! {
    get { contents.withLock { $0.characteristic } }
    set { contents.withLock { $0.characteristic = newValue } }
  }

  /// The value, as the type of the descriptor has it: a `String` for 0x2901, an `NSNumber` for 0x2900, 0x2902 and 0x2903,
  /// else `Data`.
  open var value: Any? { contents.withLock { $0.value }.object }

  final var held: DescriptorValue {
    get { contents.withLock { $0.value } }
    set { contents.withLock { $0.value = newValue } }
  }
}

/// A descriptor to publish; mirrors `CBMutableDescriptor`.
///
/// As in CoreBluetooth only two types are the application's to make: 0x2901 (Characteristic User Description, a `String`)
/// and 0x2904 (Characteristic Presentation Format, `Data` of 7 octets). 0x2900 and 0x2902 the stack makes itself, from the
/// characteristic's properties. Any other type goes through ``init(type:storedValue:length:permissions:)``.
///
/// Immutable but for what the lock of ``CBDescriptor`` protects.
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

  /// A descriptor of any type that the stack does not make itself, with permissions of its own. CoreBluetooth has no
  /// such thing. The stack keeps the value; where `permissions` let a central write,
  /// ``CBPeripheralManagerDelegate/peripheralManager(_:central:didStoreValueOf:)`` tells.
  ///
  /// - Parameter length: the lengths that a write may leave, in octets, at most 512.
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

/// What a descriptor holds; `Any?` itself cannot cross threads.
enum DescriptorValue: Sendable {
  case none
  case text(String)
  case data(Data)
  case number(Int)
  /// Something no descriptor can hold; the name of its type, for the error.
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

  /// The octets as they travel: UTF-8 for text, two octets for a number.
  var octets: [UInt8]? {
    switch self {
    case .none, .unsupported: nil
    case .text(let text): Array(text.utf8)
    case .data(let data): Array(data)
    case .number(let number): [UInt8(truncatingIfNeeded: number), UInt8(truncatingIfNeeded: number >> 8)]
    }
  }
}
