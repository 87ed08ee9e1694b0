import BLEATT
import BLEGATT
import BLEL2CAP
import BLEWire
import Board

/// The attributes of a thermometer, without a host: for a chip whose link layer comes with a host of its own, which
/// advertises, connects and pairs, and passes the frames of the attribute protocol.
///
/// The stream of the board has whole L2CAP frames, the header first (Vol 3, Part A, 3.1). A frame of the attribute
/// protocol is one of the client; a frame of another channel says that the link has ended. The client may read and
/// write the interval of the notifications and subscribe to the temperature. The console takes `m`.
@main struct Attributes {
  static func main() {
    do throws(DatabaseError) {
      var thermometer = try Thermometer()
      thermometer.run()
    } catch { log("the services are not possible\n") }
  }
}

private func log(_ text: StaticString) { board_log(text.utf8Start, Int32(text.utf8CodeUnitCount)) }

private struct Thermometer: ~Copyable {
  private static let temperature = AttributeID(rawValue: 1)
  private static let interval = AttributeID(rawValue: 2)
  private static let limits = GATTServer.Limits(
    maximumMTU: 65, maximumPreparedWrites: 4, maximumPreparedOctets: 64, maximumWaitingPDUs: 2,
    maximumQueuedIndications: 2)

  private var database = AttributeDatabase(services: GenericServices(deviceName: "Thermometer"))
  private var server = GATTServer(limits: limits)
  private var output = GATTServer.Output()
  private var nextMeasurement = Instant.start
  /// In 0.01 °C.
  private var celsius: Int16 = 2000
  /// Between two measurements, in milliseconds.
  private var milliseconds: UInt16 = 1000

  init() throws(DatabaseError) {
    _ = try database.add(
      ServiceDefinition(
        id: ServiceID(rawValue: 1), uuid: BluetoothUUID(0x181A),
        characteristics: [
          CharacteristicDefinition(
            id: Self.temperature, uuid: BluetoothUUID(0x2A6E), properties: [.read, .notify], permissions: .readable,
            value: .stored([0xD0, 0x07], length: 2...2)),
          CharacteristicDefinition(
            id: Self.interval, uuid: BluetoothUUID(0x2A21), properties: [.read, .write],
            permissions: GATTAttributePermissions(read: .open, write: .open),
            value: .stored([0xE8, 0x03], length: 2...2)),
        ]))
  }

  mutating func run() {
    log("serving\n")
    var stream = FrameStream()
    while true {
      board_wait(deadline)
      guard stream.read() else { return log("the link layer is gone\n") }
      while let length = stream.lengthOfFirst {
        receive(stream.octets.span.extracting(0..<length))
        stream.removeFirst(length)
      }
      if let due = server.deadline, due <= now {
        server.tick(now: now, security: .none, database: &database, into: &output)
      }
      measure()
      finish()
      if board_key() == Int32(UInt8(ascii: "m")) { board_log_memory() }
    }
  }

  private var now: Instant { Instant(microseconds: Int64(clamping: board_microseconds())) }

  /// When the loop has work, in microseconds since the start.
  private var deadline: UInt64 {
    let next = Instant?.nearer(server.deadline, nextMeasurement) ?? nextMeasurement
    // The next microsecond, so that it is not too early.
    return UInt64(clamping: next.microseconds &+ 1)
  }
}

extension Thermometer {
  private mutating func receive(_ frame: Span<UInt8>) {
    if let header = BasicHeader(frame), header.channel == .attributeProtocol {
      let pdu = frame.extracting(BasicFrame.headerLength..<frame.count)
      server.receive(pdu, security: .none, database: &database, now: now, into: &output)
    } else {
      server = GATTServer(limits: Self.limits)
    }
    finish()
  }

  /// Sends what the server has written, and looks at what the client has.
  private mutating func finish() {
    for index in 0..<output.pdus.count {
      let pdu = output.pdus[index]
      // The limit of the MTU and the channel of the attribute protocol fit an octet each.
      let header: InlineArray<4, UInt8> = [UInt8(truncatingIfNeeded: pdu.count), 0, 4, 0]
      header.span.withUnsafeBufferPointer { board_write($0.baseAddress, Int32($0.count)) }
      pdu.withUnsafeBufferPointer { board_write($0.baseAddress, Int32($0.count)) }
    }
    for event in output.events {
      guard case .stored = event, let value = database.storedValue(of: Self.interval) else { continue }
      milliseconds = max(10, UInt16(value[0]) | UInt16(value[1]) << 8)
      nextMeasurement = now
    }
    output.removeAll()
  }

  private mutating func measure() {
    guard nextMeasurement <= now else { return }
    nextMeasurement = now + .milliseconds(Int64(milliseconds))
    celsius = celsius < 2500 ? celsius + 1 : 2000
    let value = UInt16(bitPattern: celsius)
    let octets: InlineArray<2, UInt8> = [UInt8(truncatingIfNeeded: value), UInt8(truncatingIfNeeded: value >> 8)]
    try? database.setStored(Self.temperature, [octets[0], octets[1]])
    _ = server.sendUpdate(
      of: Self.temperature, value: octets.span, security: .none, database: database, now: now, into: &output)
  }
}

/// The frames in the stream of the board.
private struct FrameStream: ~Copyable {
  /// The first ``count`` octets are not handled yet.
  private(set) var octets = [UInt8](repeating: 0, count: 128)
  private var count = 0

  /// Takes octets of the board; returns false if there will be none.
  mutating func read() -> Bool {
    let read = octets.withUnsafeMutableBufferPointer { [count] in
      board_read($0.baseAddress.map { $0 + count }, Int32($0.count - count))
    }
    count += max(0, Int(read))
    return read >= 0
  }

  /// The length of the first frame, header included; nil if it is not there as a whole.
  var lengthOfFirst: Int? {
    guard count >= BasicFrame.headerLength, let header = BasicHeader(octets.span) else { return nil }
    let length = BasicFrame.headerLength + Int(header.length)
    // A frame that is too long never comes as a whole: the octets that are there are taken for one.
    guard length <= octets.count else { return count }
    return length <= count ? length : nil
  }

  mutating func removeFirst(_ length: Int) {
    for place in length..<count { octets[place - length] = octets[place] }
    count -= length
  }
}
