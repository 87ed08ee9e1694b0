// A library with names that CoreBluetooth has with a prefix, and BluetoothLE without one.

public struct Peripheral: Sendable {
  public init() {}
  public var wheels: Int { 4 }
}

public final class Central: Sendable {
  public init() {}
}

public enum Service: Sendable { case repair }
