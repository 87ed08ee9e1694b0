import BLEATT
import BLEGATT
import BLEWire
import Testing

/// A server that errs, generated: a sound database, with one fault in one response of one procedure. Every service that
/// the fault does not touch has to be delivered with its values.
///
/// A client discovers everything and reads it, as `RemoteDevice.services()` of BLEKit and then `ble inspect` do.
@Suite("A GATT client and a server with one fault") struct FaultyServerTests {
  @Test func aFaultHidesOnlyWhatItTouches() throws {
    var visit = try Visit()
    let sound = try visit.run()
    #expect(sound.services == Visit.published, "without a fault everything is found")
    var (combinations, requests, longest) = (0, 0, Duration.zero)
    for index in sound.responses.indices {
      for fault in Fault.all(for: sound.responses[index].response) {
        visit = try Visit(fault: (index, fault))
        let faulty = try visit.run()
        let touched = fault.touches(sound.responses[index])
        for service in Visit.published where !touched(service) {
          let found = faulty.services.first { $0.start == service.start && $0.uuid == service.uuid }
          #expect(
            found == service,
            "\(fault) in response \(index) to \(sound.responses[index].request.hexadecimal): service \(service.start)")
        }
        combinations += 1
        requests = max(requests, faulty.responses.count)
        longest = max(longest, faulty.duration)
      }
    }
    #expect(combinations > 1_500, "combinations")
    // A discovery may begin again, and a request may be repeated; nothing is endless.
    #expect(requests <= 3 * sound.responses.count, "requests of the longest visit")
    #expect(longest <= .seconds(4), "the time of the slowest end")
  }
}

/// One fault of a response.
private enum Fault: CustomStringConvertible {
  case error(UInt8)
  case octets([UInt8], String)

  var description: String {
    switch self {
    case .error(let code): "error \(code.hexadecimalNumber)"
    case .octets(let octets, let name): "\(name) (\(octets.hexadecimal))"
    }
  }

  func response(to request: [UInt8]) -> [UInt8] {
    switch self {
    case .error(let code): [0x01, request[0]] + request.dropFirst().prefix(2) + [code]
    case .octets(let octets, _): octets
    }
  }

  /// Each error code of the specification, one of an application and one of a profile; lengths; opcodes; and each
  /// handle of the response outside of its range, backward, repeated, 0 and 0xFFFF.
  static func all(for response: [UInt8]) -> [Self] {
    var faults: [Self] = ((0x00...0x14) + [0x80, 0xFF]).map { .error(UInt8($0)) }
    faults.append(.octets(response.dropLast(), "shorter"))
    faults.append(.octets(Array(response.prefix(max(1, response.count / 2))), "half"))
    faults.append(.octets([response[0]], "empty"))
    faults.append(.octets(response + [0], "longer"))
    faults.append(.octets(response + [1, 2, 3], "longer by three"))
    for opcode: UInt8 in [0x13, 0x0B, 0x11, 0x05] where opcode != response[0] {
      faults.append(.octets([opcode] + response.dropFirst(), "another opcode"))
    }
    for place in handles(in: response) {
      let handle = UInt16(response[place]) | UInt16(response[place + 1]) << 8
      for (value, name) in [
        (0, "handle 0"), (0xFFFF, "handle 0xFFFF"), (handle &- 1, "backward"), (1, "the first handle"),
        (0x7000, "outside"),
      ] as [(UInt16, String)] where value != handle {
        var changed = response
        (changed[place], changed[place + 1]) = (UInt8(value & 0xFF), UInt8(value >> 8))
        faults.append(.octets(changed, "\(name) at octet \(place)"))
      }
    }
    return faults
  }

  /// The places of the handles in a response, with those in the values of declarations.
  private static func handles(in response: [UInt8]) -> [Int] {
    let length = response.count > 1 ? Int(response[1]) : 0
    let (start, size, places): (Int, Int, [Int]) =
      switch response[0] {
      case 0x11: (2, length, [0, 2])
      case 0x09: (2, length, length == 7 || length == 21 ? [0, 3] : length == 6 || length == 8 ? [0, 2, 4] : [0])
      case 0x07: (1, 4, [0, 2])
      case 0x05: (2, length == 1 ? 4 : 18, [0])
      default: (response.count, 1, [])
      }
    return stride(from: start, to: response.count, by: size).flatMap { entry in places.map { entry + $0 } }
  }

  /// The services that it may hide or change.
  func touches(_ exchange: Visit.Exchange) -> (Visit.Service) -> Bool {
    let request = exchange.request
    let first = UInt16(request[1]) | UInt16(request[2]) << 8
    guard request[0] == 0x10 else {
      // Requests within one service, or for the UUID of a service that it includes.
      let included = Visit.published.first { request[0] == 0x0A && $0.start == AttributeHandle(first) }
      if let included { return { $0.includes.contains(included.uuid) } }
      return { $0.handles.contains(AttributeHandle(first)) }
    }
    switch self {
    // The database is discovered again.
    case .error(0x12): return { _ in false }
    // An error is the end of the list.
    case .error: return { $0.start >= AttributeHandle(first) }
    // Those in the response. One that claims all handles hides those that follow, and one that begins within the
    // service before ends that.
    case .octets(let octets, _):
      let entries = stride(from: 2, to: exchange.response.count, by: Int(exchange.response[1])).map { start in
        AttributeHandle(UInt16(exchange.response[start]) | UInt16(exchange.response[start + 1]) << 8)
      }
      let claimsAll = octets.count == exchange.response.count && octets[0] == 0x11 && octets != exchange.response
      return { service in
        entries.contains(service.start) || (claimsAll && service.start >= AttributeHandle(first))
          || (claimsAll && entries.contains { $0 > service.start } && service.handles.upperBound.rawValue + 1 >= first)
      }
    }
  }
}

/// A client that discovers and reads everything that a server has.
private struct Visit {
  struct Exchange {
    var request: [UInt8]
    var response: [UInt8]
  }

  struct Service: Equatable {
    var start: AttributeHandle
    var handles: ClosedRange<AttributeHandle>
    var uuid: BluetoothUUID
    var includes: [BluetoothUUID] = []
    /// By type, with the values of their descriptors.
    var values: [BluetoothUUID: [[UInt8]]] = [:]

    static func == (a: Self, b: Self) -> Bool {
      a.start == b.start && a.uuid == b.uuid && a.includes == b.includes && a.values == b.values
    }
  }

  struct Result {
    var services: [Service]
    var responses: [Exchange]
    var duration: Duration
  }

  private struct Endless: Error {}
  private struct Changed: Error {}

  private var client = GATTClient()
  private var output = GATTClient.Output()
  private var server = GATTServer()
  private var serverOutput = GATTServer.Output()
  private var database: AttributeDatabase
  private var now = Instant.start
  private var lastID: UInt32 = 0
  private var responses: [Exchange] = []
  private var hasChanged = false
  private let fault: (index: Int, fault: Fault)?

  init(fault: (Int, Fault)? = nil) throws {
    self.fault = fault
    database = try AttributeDatabase(attributes: Self.attributes)
  }

  mutating func run() throws -> Result {
    var services: [Service] = []
    for _ in 0..<4 {
      hasChanged = false
      do { services = try visit() } catch is Changed { continue }
      break
    }
    return Result(services: services, responses: responses, duration: now - .start)
  }

  private mutating func visit() throws -> [Service] {
    guard case .services(let found)? = try perform(.discoverPrimaryServices) else { return [] }
    var services: [Service] = []
    for service in found {
      var known = Service(start: service.handles.lowerBound, handles: service.handles, uuid: service.uuid)
      if case .includedServices(let includes)? = try perform(.findIncludedServices(service.handles)) {
        known.includes = includes.map(\.service.uuid)
      }
      if case .characteristics(let characteristics)? = try perform(.discoverCharacteristics(service.handles)) {
        for (index, characteristic) in characteristics.enumerated() {
          let next = index + 1 < characteristics.count ? characteristics[index + 1].declaration : nil
          known.values[characteristic.uuid] = try values(of: characteristic, before: next, in: service.handles)
        }
      }
      services.append(known)
    }
    return services
  }

  private mutating func values(
    of characteristic: DiscoveredCharacteristic, before next: AttributeHandle?, in service: ClosedRange<AttributeHandle>
  ) throws -> [[UInt8]] {
    var values: [[UInt8]] = []
    if case .value(let value)? = try perform(.readLong(characteristic.valueHandle)) { values.append(value) }
    guard let range = characteristic.descriptors(before: next, in: service),
      case .descriptors(let descriptors)? = try perform(.discoverDescriptors(range))
    else { return values }
    for descriptor in descriptors {
      if case .value(let value)? = try perform(.readLong(descriptor.handle)) { values.append(value) }
    }
    return values
  }

  /// Performs one operation to its end: PDUs go to the other side at once; time passes only when nobody sends.
  private mutating func perform(_ kind: GATTClient.Operation.Kind) throws -> GATTClient.Outcome? {
    lastID += 1
    let id = GATTClient.OperationID(rawValue: lastID)
    client.perform(GATTClient.Operation(id: id, kind), now: now, into: &output)
    for _ in 0..<200 {
      for case .servicesChanged in output.events { hasChanged = true }
      for case .finished(id, let result) in output.events {
        output.removeAll()
        if hasChanged { throw Changed() }
        return try? result.get().found
      }
      let requests = (0..<output.pdus.count).map { Array(output.pdus[$0]) }
      output.removeAll()
      for request in requests { serve(request) }
      guard requests.isEmpty else { continue }
      guard let deadline = client.deadline else { throw Endless() }
      now = deadline
      client.tick(now: now, into: &output)
    }
    throw Endless()
  }

  private mutating func serve(_ request: [UInt8]) {
    server.receive(request.span, security: SecurityState(), database: &database, now: now, into: &serverOutput)
    let answers = (0..<serverOutput.pdus.count).map { Array(serverOutput.pdus[$0]) }
    serverOutput.removeAll()
    for answer in answers {
      let isFaulty = fault?.index == responses.count
      let response = isFaulty ? fault?.fault.response(to: request) ?? answer : answer
      responses.append(Exchange(request: request, response: response))
      client.receive(response.span, now: now, into: &output)
    }
  }
}

/// The database: services of both sizes, short and long values, descriptors, includes.
extension Visit {
  private static let long: BluetoothUUID = "0F0F0F0F-0000-4000-8000-0F0F0F0F0F0F"

  /// Each service with its characteristics: their values and those of their descriptors.
  private static let contents: [(BluetoothUUID, [(BluetoothUUID, [UInt8], [[UInt8]])])] = [
    ("1800", [("2A00", Array("A name of 22 octets...".utf8), []), ("2A01", [0, 0], [])]),
    ("180F", [("2A19", [66], [[0, 0], Array("front".utf8)])]),
    ("1816", [("2A5B", [1, 2, 3], [[1]]), ("2A5C", [4], []), (long, (0..<50).map { $0 }, [])]),
    (long, [("2A1C", [5, 6], [[7], [8], [9]])]),
    ("180D", [("2A37", [], [[0, 0]]), ("2A38", [3], [])]),
    ("FFE0", [("FFE1", [1], [])]),
  ]

  private static let layout = makeLayout()
  static var attributes: [AttributeDefinition] { layout.attributes }
  static var published: [Service] { layout.services }

  private static func makeLayout() -> (attributes: [AttributeDefinition], services: [Service]) {
    var (attributes, services): ([AttributeDefinition], [Service]) = ([], [])
    var last: UInt16 = 0
    func add(_ type: BluetoothUUID, _ value: [UInt8]) {
      last += 1
      attributes.append(AttributeDefinition(handle: AttributeHandle(last), type: type, value: .fixed(value)))
    }
    for (number, (uuid, characteristics)) in contents.enumerated() {
      // A gap before each service.
      last += 3
      let first = last + 1
      add(.primaryService, uuid.attributeType.littleEndian)
      var service = Service(start: AttributeHandle(first), handles: 1...1, uuid: uuid)
      if number > 3, let included = services.first(where: { $0.uuid == (number == 4 ? "180F" : long) }) {
        let (start, end) = (included.handles.lowerBound.rawValue, included.handles.upperBound.rawValue)
        let short = number == 4 ? included.uuid.littleEndian : []
        add(.include, [UInt8(start), 0, UInt8(end), 0] + short)
        service.includes = [included.uuid]
      }
      for (uuid, value, descriptors) in characteristics {
        add(.characteristic, [0x02, UInt8(last + 2), 0] + uuid.attributeType.littleEndian)
        add(uuid, value)
        for descriptor in descriptors { add("2901", descriptor) }
        service.values[uuid] = [value] + descriptors
      }
      service.handles = AttributeHandle(first)...AttributeHandle(last)
      services.append(service)
    }
    return (attributes, services)
  }
}
