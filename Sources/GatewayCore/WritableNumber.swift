import BLEProfiles
public import BLEWire

/// The format of a characteristic that is one number, to write it: `{"value":21.5}`.
public struct WritableNumber: Sendable {
  private let format: EnvironmentalFormat

  private static let formats = Dictionary(
    EnvironmentalSensing.quantities.map { ($0.format.uuid, $0.format) }, uniquingKeysWith: { first, _ in first })

  /// - Returns: nil for a characteristic that is not one number of a fixed format.
  public init?(_ uuid: BluetoothUUID) {
    guard let format = Self.formats[uuid] else { return nil }
    self.format = format
  }

  /// The difference between two numbers.
  public var step: Double { 1 / scale }
  public var minimum: Double { Double(format.range.lowerBound) / scale }
  public var maximum: Double { Double(format.range.upperBound) / scale }

  private var scale: Double { (0..<format.decimals).reduce(1) { scale, _ in scale * 10 } }

  /// The value for a number, rounded to ``step``; nil for one that the characteristic cannot have.
  public func octets(of number: Double) -> [UInt8]? {
    let scaled = (number * scale).rounded()
    guard scaled.isFinite, abs(scaled) <= 1e12 else { return nil }
    let integer = Int(scaled)
    guard format.range.contains(integer), integer != format.unknown else { return nil }
    return (0..<format.octets).map { UInt8(truncatingIfNeeded: integer >> ($0 * 8)) }
  }
}
