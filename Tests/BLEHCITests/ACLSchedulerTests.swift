import BLEWire
import TestSupport
import Testing

@testable import BLEHCI

/// The ACL buffers of the controller, which the links share (Vol 4, Part E, 4.1.1).
@Suite struct ACLSchedulerTests {
  var scheduler = ACLScheduler(limits: .init(frames: 3, octets: 400))
  var out = PacketBuffer()
  var transmitted: [TransmittedFrames] = []
  let a = ConnectionHandle(rawValue: 0x0040)
  let b = ConnectionHandle(rawValue: 0x0041)

  init() {
    scheduler.setBuffers(length: 27, count: 4)
    scheduler.addLink(a)
  }

  mutating func send(_ handle: ConnectionHandle, _ payload: [UInt8], tag: UInt32 = 0) throws -> ACLScheduler.Sent {
    try scheduler.send(handle, cid: 4, payload: payload.span, tag: tag, into: &out)
  }

  mutating func complete(_ handle: ConnectionHandle, _ count: Int) -> Int {
    scheduler.completed(handle, count: count, into: &out, transmitted: &transmitted)
  }

  mutating func sent() throws -> [HCIACLDataPacket] {
    defer { out.removeAll() }
    return try (0..<out.count).map { try HCIACLDataPacket(decoding: out[$0].dropFirst()) }
  }

  /// Reassembles the L2CAP frames of each link.
  static func frames(_ packets: [HCIACLDataPacket]) throws -> [ConnectionHandle: [[UInt8]]] {
    var frames: [ConnectionHandle: [[UInt8]]] = [:]
    for packet in packets {
      switch packet.packetBoundaryFlag {
      case .firstNonFlushable: frames[packet.connectionHandle, default: []].append(Array(packet.data))
      case .continuing:
        let begun = try #require(frames[packet.connectionHandle])
        frames[packet.connectionHandle] = begun.dropLast() + [try #require(begun.last) + packet.data]
      default: Issue.record("a host sends no packet with PB flag \(packet.packetBoundaryFlag)")
      }
    }
    return frames
  }

  @Test mutating func `a frame that fits is sent at once as one packet`() throws {
    #expect(try send(a, [0x0B, 0x64]) == .atOnce)
    // Type, handle with PB flag 00, length; L2CAP length and CID; the payload.
    #expect(Array(out[0]) == [0x02, 0x40, 0x00, 0x06, 0x00, 0x02, 0x00, 0x04, 0x00, 0x0B, 0x64])
    #expect(scheduler.freeBuffers == 3)
  }

  @Test(arguments: [23, 24, 50, 51, 77, 78])
  mutating func `a longer frame is sent in fragments of the controller's length`(length: Int) throws {
    let payload = (0..<length).map { UInt8(truncatingIfNeeded: $0) }
    #expect(try send(a, payload) == .atOnce || length > 104)
    let packets = try sent()
    let header = [UInt8(length), 0, 4, 0]
    #expect(packets.count == (length + 4 + 26) / 27)
    #expect(packets.dropLast().allSatisfy { $0.data.count == 27 })
    #expect(packets.map(\.packetBoundaryFlag) == [.firstNonFlushable] + packets.dropFirst().map { _ in .continuing })
    #expect(packets.flatMap(\.data) == header + payload)
  }

  /// A frame of two packets of the link layer, with a controller that takes a little more than one.
  @Test(
    arguments: [
      (0, [255, 247]), (27, [243, 243, 16]), (251, [251, 251]), (255, [255, 247]), (256, [255, 247]),
    ] as [(UInt16, [Int])])
  mutating func `fragments are whole packets of the link layer`(dataLength: UInt16, lengths: [Int]) throws {
    scheduler.setBuffers(length: 255, count: 4)
    scheduler.setDataLength(dataLength, of: a)
    let payload = (0..<498).map { UInt8(truncatingIfNeeded: $0) }
    _ = try send(a, payload)
    var packets = try sent()
    #expect(packets.map(\.data.count) == lengths)
    // The same from the queue.
    scheduler = ACLScheduler(limits: .init(frames: 3, octets: 600))
    scheduler.setBuffers(length: 255, count: 1)
    scheduler.addLink(a)
    scheduler.setDataLength(dataLength, of: a)
    #expect(try send(a, payload) == .queued)
    for _ in lengths { _ = complete(a, 1) }
    packets = try sent()
    #expect(packets.map(\.data.count) == lengths && packets.flatMap(\.data).suffix(498) == payload)
    // A frame that the controller takes whole is one packet.
    scheduler.setBuffers(length: 600, count: 4)
    #expect(try send(a, payload) == .atOnce && (try sent()).count == 1)
  }

  @Test mutating func `packets above the number of buffers are sent as buffers become free`() throws {
    let payload = [UInt8](repeating: 7, count: 200)
    #expect(try send(a, payload, tag: 9) == .queued)
    #expect(try send(a, [1]) == .queued)
    var packets = try sent()
    #expect(packets.count == 4 && scheduler.freeBuffers == 0)
    #expect(complete(a, 1) == 0)
    #expect(try #require(scheduler.backlog(a)).frames == 2)
    #expect(complete(a, 2) == 0)
    packets += try sent()
    #expect(packets.count == 7)
    #expect(complete(a, 4) == 0)
    packets += try sent()
    #expect(try Self.frames(packets) == [a: [[200, 0, 4, 0] + payload, [1, 0, 4, 0, 1]]])
    #expect(transmitted == [])
    #expect(complete(a, 2) == 0)
    #expect(transmitted == [TransmittedFrames(handle: a, tag: 9, count: 1)])
    #expect(scheduler.freeBuffers == 4)
  }

  @Test mutating func `frames of one link are sent in order`() throws {
    scheduler.setBuffers(length: 27, count: 1)
    for octet in 1...3 { _ = try send(a, [UInt8(octet)]) }
    var order = try sent().compactMap(\.data.last)
    for _ in 0..<2 {
      _ = complete(a, 1)
      order += try sent().compactMap(\.data.last)
    }
    #expect(order == [1, 2, 3])
  }

  @Test mutating func `tagged frames are reported when the controller has sent them`() throws {
    _ = try send(a, [1], tag: 5)
    _ = try send(a, [2], tag: 5)
    _ = try send(a, [3])
    _ = try send(a, [UInt8](repeating: 0, count: 40), tag: 6)
    _ = complete(a, 1)
    #expect(transmitted == [TransmittedFrames(handle: a, tag: 5, count: 1)])
    transmitted = []
    _ = complete(a, 3)
    #expect(transmitted == [TransmittedFrames(handle: a, tag: 5, count: 1)])
    _ = complete(a, 1)
    #expect(
      transmitted == [
        TransmittedFrames(handle: a, tag: 5, count: 1), TransmittedFrames(handle: a, tag: 6, count: 1),
      ])
  }

  @Test mutating func `a stream has room while none of its frames waits`() throws {
    scheduler = ACLScheduler(limits: .init(frames: 8, octets: 400))
    scheduler.setBuffers(length: 27, count: 1)
    scheduler.addLink(a)
    #expect(scheduler.hasRoomForStream(a, tag: 9))
    _ = try send(a, [1], tag: 9)
    #expect(scheduler.hasRoomForStream(a, tag: 9), "the controller has the frame")
    _ = try send(a, [2], tag: 9)
    #expect(!scheduler.hasRoomForStream(a, tag: 9))
    #expect(scheduler.hasRoomForStream(a, tag: 8))
    _ = complete(a, 1)
    #expect(scheduler.hasRoomForStream(a, tag: 9))
    for _ in 0..<scheduler.limits.frames / 2 - 1 { _ = try send(a, [3]) }
    #expect(scheduler.hasRoomForStream(a, tag: 9))
    _ = try send(a, [3])
    #expect(!scheduler.hasRoomForStream(a, tag: 9), "the queue is half full")
    #expect(!scheduler.hasRoomForStream(ConnectionHandle(rawValue: 0x0EFF), tag: 9))
  }

  @Test mutating func `links send in turn`() throws {
    scheduler.setBuffers(length: 27, count: 2)
    scheduler.addLink(b)
    let long = [UInt8](repeating: 0, count: 100)
    for _ in 0..<2 {
      _ = try send(a, long)
      _ = try send(b, long)
    }
    var order: [ConnectionHandle] = []
    for _ in 0..<40 {
      for packet in try sent() {
        order.append(packet.connectionHandle)
        _ = complete(packet.connectionHandle, 1)
      }
    }
    #expect(order.count == 16)
    for index in stride(from: 0, to: 16, by: 2) { #expect(Set(order[index...index + 1]) == [a, b]) }
  }

  @Test mutating func `one link cannot use the last buffer`() throws {
    scheduler.addLink(b)
    for _ in 0..<2 { _ = try send(a, [UInt8](repeating: 0, count: 100)) }
    #expect(try sent().count == 3)
    #expect(try send(b, [1]) == .atOnce)
    #expect(try sent().map(\.connectionHandle) == [b])
    // A single buffer is not reserved.
    scheduler.removeAll()
    scheduler.setBuffers(length: 27, count: 1)
    scheduler.addLink(a)
    scheduler.addLink(b)
    #expect(try send(a, [1]) == .atOnce)
  }

  /// Links whose packets are not completed, and one whose packets are.
  @Test(arguments: [(3, 2), (4, 3), (8, 5), (27, 14)])
  mutating func `silent links leave a buffer for each other link`(buffers: Int, links: Int) throws {
    scheduler.setBuffers(length: 27, count: buffers)
    let silent = (1..<links).map { ConnectionHandle(rawValue: UInt16($0)) }
    for handle in silent { scheduler.addLink(handle) }
    for _ in 0..<3 { for handle in silent { _ = try send(handle, [UInt8](repeating: 0, count: 100)) } }
    #expect(try sent().count == buffers - 1, "no more than the buffer of the link without a packet stays free")
    for _ in 0..<10 {
      #expect(try send(a, [1]) == .atOnce)
      #expect(try sent().map(\.connectionHandle) == [a])
      #expect(complete(a, 1) == 0)
    }
  }

  @Test(arguments: [(1, 1), (2, 1), (3, 2), (8, 4), (27, 14)])
  mutating func `many idle links leave half of the buffers to the one that sends`(buffers: Int, share: Int) throws {
    scheduler.setBuffers(length: 27, count: buffers)
    for number in 0..<32 as Range<UInt16> { scheduler.addLink(ConnectionHandle(rawValue: number)) }
    _ = try send(a, [UInt8](repeating: 0, count: 390))
    #expect(try sent().count == share)
    #expect(try send(ConnectionHandle(rawValue: 1), [1]) == (buffers > 1 ? .atOnce : .queued))
  }

  @Test mutating func `the link with the fewest packets in the controller sends next`() throws {
    scheduler.addLink(b)
    for _ in 0..<3 { _ = try send(a, [UInt8](repeating: 0, count: 100)) }
    for _ in 0..<3 { _ = try send(b, [UInt8](repeating: 0, count: 50)) }
    #expect(try sent().map(\.connectionHandle) == [a, a, a, b])
    #expect(complete(a, 1) == 0)
    #expect(try sent().map(\.connectionHandle) == [b])
    #expect(complete(b, 1) == 0)
    #expect(try sent().map(\.connectionHandle) == [b])
    #expect(complete(b, 2) == 0)
    #expect(try sent().map(\.connectionHandle) == [b, b])
  }

  @Test mutating func `a link is stalled if none of its packets is completed while another one has no buffer`() throws {
    let c = ConnectionHandle(rawValue: 0x0042)
    scheduler.setBuffers(length: 27, count: 2)
    for handle in [b, c] { scheduler.addLink(handle) }
    _ = try send(a, [1])
    #expect(!scheduler.mayStarve)
    _ = try send(b, [1])
    #expect(!scheduler.mayStarve)
    #expect(try send(c, [1]) == .queued)
    #expect(scheduler.mayStarve)
    scheduler.watch()
    #expect(scheduler.takeStalled() == [a, b])
    #expect(scheduler.takeStalled() == [], "the period is over")
    // One of them makes progress.
    scheduler.watch()
    _ = try send(b, [2])
    #expect(complete(b, 1) == 0)
    #expect(try sent().map(\.connectionHandle) == [a, b, b])
    #expect(scheduler.takeStalled() == [a])
    // The other link gets a buffer in the period.
    scheduler.watch()
    #expect(complete(b, 1) == 0)
    #expect(try sent().map(\.connectionHandle) == [c])
    #expect(scheduler.takeStalled() == [])
    // Nobody lacks a buffer.
    #expect(complete(c, 1) == 0)
    scheduler.watch()
    #expect(scheduler.takeStalled() == [])
  }

  @Test mutating func `a disconnection frees the buffers and drops the queue`() throws {
    scheduler.addLink(b)
    _ = try send(a, [UInt8](repeating: 0, count: 200))
    _ = try send(b, [UInt8](repeating: 0, count: 60))
    #expect(try sent().count == 4)
    scheduler.removeLink(a, into: &out)
    #expect(try sent().map(\.connectionHandle) == [b, b])
    #expect(scheduler.freeBuffers == 1)
    #expect(scheduler.backlog(a) == nil)
    #expect(complete(a, 3) == 3)
    #expect(scheduler.freeBuffers == 1)
    #expect(throws: ACLSchedulerError.unknownLink(a)) { try send(a, [1]) }
    #expect(complete(b, 3) == 0)
    #expect(scheduler.freeBuffers == 4)
  }

  @Test mutating func `completed packets are limited to those in the controller`() throws {
    _ = try send(a, [1], tag: 1)
    #expect(complete(a, 1000) == 999)
    #expect(scheduler.freeBuffers == 4)
    #expect(complete(a, 1) == 1)
    #expect(complete(b, 2) == 2)
    #expect(complete(a, -1) == 0)
    #expect(scheduler.freeBuffers == 4)
    #expect(transmitted == [TransmittedFrames(handle: a, tag: 1, count: 1)])
  }

  @Test mutating func `a full queue rejects a frame`() throws {
    scheduler.setBuffers(length: 27, count: 1)
    _ = try send(a, [0])
    for _ in 0..<3 { #expect(try send(a, [1]) == .queued) }
    #expect(throws: ACLSchedulerError.queueFull(a, frames: 3, octets: 15)) { try send(a, [1]) }
    _ = complete(a, 1)
    #expect(try send(a, [1]) == .queued)

    scheduler.removeLink(a, into: &out)
    scheduler.addLink(a)
    _ = try send(a, [0])
    #expect(try send(a, [UInt8](repeating: 0, count: 196)) == .queued)
    #expect(throws: ACLSchedulerError.queueFull(a, frames: 1, octets: 200)) {
      try send(a, [UInt8](repeating: 0, count: 197))
    }
    #expect(try send(a, [UInt8](repeating: 0, count: 196)) == .queued)
    #expect(try #require(scheduler.backlog(a)).octets == 400)
  }

  @Test mutating func `missing buffers and a payload above 65535 octets are errors`() throws {
    scheduler.setBuffers(length: 0, count: 4)
    #expect(throws: ACLSchedulerError.noBuffers) { try send(a, [1]) }
    scheduler.setBuffers(length: 27, count: 0)
    #expect(throws: ACLSchedulerError.noBuffers) { try send(a, [1]) }
    scheduler.setBuffers(length: 27, count: 1)
    #expect(throws: ACLSchedulerError.frameTooLong(octets: 65536)) {
      try send(a, [UInt8](repeating: 0, count: 65536))
    }
  }

  @Test(arguments: 1...30)
  mutating func `every buffer length keeps frames complete`(length: Int) throws {
    scheduler.setBuffers(length: length, count: 3)
    var packets: [HCIACLDataPacket] = []
    let payloads = [[UInt8]](repeating: Array(0..<30), count: 3)
    for payload in payloads { _ = try send(a, payload) }
    for _ in 0..<200 {
      let new = try sent()
      packets += new
      _ = complete(a, new.count)
    }
    #expect(packets.allSatisfy { $0.data.count <= length })
    #expect(try Self.frames(packets) == [a: payloads.map { [30, 0, 4, 0] + $0 }])
  }

  @Test mutating func `the event frees buffers of all its links`() throws {
    scheduler.addLink(b)
    _ = try send(a, [1], tag: 1)
    _ = try send(b, [1], tag: 2)
    let parameters: [UInt8] = [0x02, 0x40, 0x00, 0x01, 0x00, 0x41, 0x00, 0x02, 0x00]
    let excess = try scheduler.receive(
      numberOfCompletedPackets: parameters.span, into: &out, transmitted: &transmitted)
    #expect(excess == 1)
    #expect(transmitted.map(\.tag) == [1, 2])
    for length in 0..<parameters.count {
      let cut = Array(parameters.prefix(length))
      #expect(throws: CodecError.self) {
        try scheduler.receive(numberOfCompletedPackets: cut.span, into: &out, transmitted: &transmitted)
      }
    }
    #expect(throws: CodecError.trailing(count: 1)) {
      let longer = parameters + [0]
      try scheduler.receive(numberOfCompletedPackets: longer.span, into: &out, transmitted: &transmitted)
    }
  }

  @Test mutating func `twelve links under random load keep all frames in order`() throws {
    var source = SplitMix64(seed: 12)
    scheduler = ACLScheduler()
    scheduler.setBuffers(length: 27, count: 8)
    let handles = (0..<12).map { ConnectionHandle(rawValue: UInt16($0)) }
    for handle in handles { scheduler.addLink(handle) }
    var expected: [ConnectionHandle: [[UInt8]]] = [:]
    var inController: [ConnectionHandle] = []
    var packets: [HCIACLDataPacket] = []
    for step in 0..<6000 {
      if step < 4000, let handle = handles.randomElement(using: &source) {
        let payload = source.octets(0...120)
        do {
          _ = try send(handle, payload, tag: 1)
          expected[handle, default: []].append([UInt8(payload.count), 0, 4, 0] + payload)
        } catch ACLSchedulerError.queueFull {}
      }
      let new = try sent()
      packets += new
      inController += new.map(\.connectionHandle)
      #expect(inController.count <= 8)
      for _ in 0..<Int.random(in: 0...3, using: &source) where !inController.isEmpty {
        let index = Int.random(in: inController.indices, using: &source)
        #expect(complete(inController.remove(at: index), 1) == 0)
      }
    }
    while !inController.isEmpty {
      _ = complete(inController.removeFirst(), 1)
      let new = try sent()
      packets += new
      inController += new.map(\.connectionHandle)
    }
    #expect(try Self.frames(packets) == expected)
    #expect(transmitted.map(\.count).reduce(0, +) == expected.values.map(\.count).reduce(0, +))
    #expect(scheduler.freeBuffers == 8)
  }

  @Test mutating func `any reports keep the packets within the buffers`() throws {
    var source = SplitMix64(seed: 13)
    scheduler.setBuffers(length: 27, count: 5)
    let handles = (0..<4).map { ConnectionHandle(rawValue: UInt16($0)) }
    var inController: [ConnectionHandle: Int] = [:]
    for _ in 0..<4000 {
      guard let handle = handles.randomElement(using: &source) else { return }
      switch UInt8.random(in: 0..<10, using: &source) {
      case 0:
        scheduler.removeLink(handle, into: &out)
        inController[handle] = nil
      case 1: scheduler.addLink(handle)
      case 2...6: _ = try? send(handle, source.octets(0...80))
      default:
        let count = Int.random(in: 0...4, using: &source)
        let held = inController[handle] ?? 0
        #expect(complete(handle, count) == max(0, count - held))
        inController[handle] = max(0, held - count)
      }
      for packet in try sent() { inController[packet.connectionHandle, default: 0] += 1 }
      let out = inController.values.reduce(0, +)
      #expect(out <= 5 && scheduler.freeBuffers == 5 - out)
    }
  }
}
