import BLECrypto
public import BLEVirtual
import BLEWire

/// Something that happens to a device of a test, at a time.
///
/// ```swift
/// import BLETesting
///
/// /// The sensor leaves 5 s after the beginning, for a minute.
/// let incidents = [Incident("sensor", .leaves(for: .seconds(60)), at: .seconds(5))]
/// ```
public struct Incident: Hashable, Sendable, CustomStringConvertible {
  /// The kinds of incidents.
  public enum Kind: Hashable, Sendable, CustomStringConvertible {
    /// The links end by their supervision timeout.
    case losesLinks
    /// The device is out of range for a time.
    case leaves(for: Duration)
    /// The device is switched off for a time.
    case losesPower(for: Duration)
    /// The device loses its keys.
    case forgetsBonds
    /// The controller has these faults for a time, and none afterwards.
    case faults([VirtualFault], for: Duration)

    /// The kind in Swift.
    public var description: String {
      switch self {
      case .losesLinks: ".losesLinks"
      case .leaves(let time): ".leaves(for: \(time.swift))"
      case .losesPower(let time): ".losesPower(for: \(time.swift))"
      case .forgetsBonds: ".forgetsBonds"
      case .faults(let faults, let time):
        ".faults([\(faults.map { ".\($0)" }.joined(separator: ", "))], for: \(time.swift))"
      }
    }

    /// How long it lasts; nil for a moment.
    var duration: Duration? {
      switch self {
      case .leaves(let time), .losesPower(let time), .faults(_, let time): time
      case .losesLinks, .forgetsBonds: nil
      }
    }

    func lasting(_ time: Duration) -> Self {
      switch self {
      case .leaves: .leaves(for: time)
      case .losesPower: .losesPower(for: time)
      case .faults(let faults, _): .faults(faults, for: time)
      case .losesLinks, .forgetsBonds: self
      }
    }
  }

  /// The name of the device. An incident of a device that the radio does not have at the time has no effect.
  public var device: String
  /// What happens.
  public var kind: Kind
  /// The time since the radio began.
  public var time: Duration

  /// An incident of the device with this name.
  public init(_ device: String, _ kind: Kind, at time: Duration) {
    (self.device, self.kind, self.time) = (device, kind, time)
  }

  /// The incident in Swift.
  public var description: String { "Incident(\"\(device)\", \(kind), at: \(time.swift))" }
}

/// The incidents that happen at random: which, to whom, how many, when.
///
/// ```swift
/// import BLETesting
///
/// let plan = IncidentPlan(
///   of: ["sensor"], [.losesLinks, .leaves(for: .seconds(20))], count: 1...3, within: .seconds(60))
/// ```
public struct IncidentPlan: Sendable {
  /// The names of the devices.
  public var devices: [String]
  /// The kinds. A time of one is the longest: the time of an incident lies between a hundredth of it and this.
  public var kinds: [Incident.Kind]
  /// How many happen, at most 1,000.
  public var count: ClosedRange<Int>
  /// The time, since the radio began, in which they happen.
  public var time: Duration

  /// Incidents of these kinds, to these devices.
  public init(of devices: [String], _ kinds: [Incident.Kind], count: ClosedRange<Int>, within time: Duration) {
    (self.devices, self.kinds, self.count, self.time) = (devices, kinds, count, time)
  }

  static let countLimit = 1_000

  /// No incidents.
  public static let none = IncidentPlan(of: [], [], count: 0...0, within: .zero)

  /// The incidents of a seed, in the order of their times.
  public func incidents(seed: UInt64) -> [Incident] {
    guard !devices.isEmpty, !kinds.isEmpty else { return [] }
    var random = RandomSource.seeded(seed ^ 0x1C1D_E275)
    return (0..<min(max(0, Int.random(in: count, using: &random)), Self.countLimit)).compactMap { _ -> Incident? in
      guard let device = devices.randomElement(using: &random), let kind = kinds.randomElement(using: &random) else {
        return nil
      }
      let hundredths = Int.random(in: 1...100, using: &random)
      let time = time.waitable * Int.random(in: 0...999, using: &random) / 1000
      return Incident(device, kind.duration.map { kind.lasting($0.waitable * hundredths / 100) } ?? kind, at: time)
    }.sorted { $0.time < $1.time }
  }
}

extension Duration {
  /// `.milliseconds(1500)`.
  fileprivate var swift: String {
    let microseconds = wholeMicroseconds
    if microseconds % 1_000_000 == 0 { return ".seconds(\(microseconds / 1_000_000))" }
    return microseconds % 1000 == 0 ? ".milliseconds(\(microseconds / 1000))" : ".microseconds(\(microseconds))"
  }
}
