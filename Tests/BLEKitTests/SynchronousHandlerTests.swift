import AdapterFixtures
import BLEATT
import BLEHost
import BLEKit
import BLEWire
import Synchronization
import Testing

@testable import BLEGATT

/// Handlers on the thread of the stack. The scripted host calls the adapter as the stack does, so that an answer is
/// there when the call returns.
@Suite(.usesRadio) struct SynchronousHandlerTests {
  private let host = ScriptedHost()
  private let client = ScriptedHost.client

  private struct Unreadable: Error {}

  /// The answers so far, in order.
  private var answers: [RequestAnswer] {
    host.commands.compactMap { if case .respond(_, _, let answer) = $0 { answer } else { nil } }
  }

  private func serve(_ characteristic: LocalCharacteristic) async throws -> (Adapter, ServicePublication, AttributeID) {
    let adapter = try await host.open()
    let (publication, attribute) = try await host.publish(characteristic, on: adapter)
    host.connect()
    return (adapter, publication, attribute)
  }

  private func read(_ attribute: AttributeID, offset: Int = 0) {
    host.say(.server(client, .read(RequestToken(number: 1), attribute, offset: offset)))
  }

  private func write(_ token: RequestToken, _ parts: (AttributeID, Int, [UInt8])...) {
    host.say(.server(client, .write(token, parts.map { WritePart(attribute: $0.0, offset: $0.1, value: $0.2) })))
  }

  @Test func answersBeforeTheStackGoesOn() async throws {
    let (adapter, publication, attribute) = try await serve(
      LocalCharacteristic("2A19").readSynchronously { _ in UInt8(97) })
    read(attribute)
    #expect(answers == [.success([97])])
    #expect(host.connection.taken >= 1)
    _ = (adapter, publication)
  }

  @Test func sendsTheErrorThatTheHandlerThrows() async throws {
    let number = Mutex(0)
    let (adapter, publication, attribute) = try await serve(
      LocalCharacteristic("2A19").readSynchronously { _ -> UInt8 in
        let call = number.withLock { number in
          number += 1
          return number
        }
        if call == 1 { throw ATTErrorCode.valueNotAllowed }
        throw Unreadable()
      }
      .writeSynchronously(UInt16.self) { _, _ in throw ATTErrorCode.outOfRange })
    read(attribute)
    read(attribute)
    write(RequestToken(number: 2), (attribute, 0, [1, 2]))
    write(RequestToken(number: 3), (attribute, 0, [1]))
    #expect(
      answers == [
        .failure(.valueNotAllowed), .failure(.unlikelyError), .failure(.outOfRange, attribute: attribute),
        .failure(.invalidAttributeValueLength, attribute: attribute),
      ])
    _ = (adapter, publication)
  }

  @Test func rejectsAValueThatNoAttributeHolds() async throws {
    let (adapter, publication, attribute) = try await serve(
      LocalCharacteristic("2A19").readSynchronously { _ in [UInt8](repeating: 1, count: 513) })
    read(attribute)
    #expect(answers == [.failure(.unlikelyError)])
    _ = (adapter, publication)
  }

  /// GATT/SR/GAR/BV-04-C: all parts of a long read are of one value; a read from the start makes a new one.
  @Test func cutsTheNextPartsOfALongReadFromTheSameValue() async throws {
    let calls = Mutex<UInt8>(0)
    let lengths = Mutex([100, 100, 3])
    let (adapter, publication, attribute) = try await serve(
      LocalCharacteristic("2A19").readSynchronously { _ -> [UInt8] in
        let call = calls.withLock { calls in
          calls += 1
          return calls
        }
        return [UInt8](repeating: call, count: lengths.withLock { $0.removeFirst() })
      })
    for offset in [0, 22, 44] { read(attribute, offset: offset) }
    #expect(answers.map(\.octets) == [100, 78, 56].map { [UInt8](repeating: 1, count: $0) })
    read(attribute)
    read(attribute, offset: 101)
    #expect(answers.suffix(2) == [.success([UInt8](repeating: 2, count: 100)), .failure(.invalidOffset)])
    // A short value takes the place of the long one.
    read(attribute)
    read(attribute, offset: 3)
    #expect(answers.suffix(2) == [.success([3, 3, 3]), .success([])])
    _ = (adapter, publication)
  }

  /// An enhanced bearer may have a smaller ATT_MTU than the first one, and its client reads the value in parts.
  @Test func keepsAValueThatAnyBearerMayCarryInParts() async throws {
    let calls = Mutex<UInt8>(0)
    let (adapter, publication, attribute) = try await serve(
      LocalCharacteristic("2A19").readSynchronously { _ in
        [UInt8](
          repeating: calls.withLock { calls in
            calls += 1
            return calls
          }, count: 40)
      })
    host.say(.link(client, .mtu(247)))
    read(attribute)
    read(attribute, offset: 22)
    #expect(answers == [.success([UInt8](repeating: 1, count: 40)), .success([UInt8](repeating: 1, count: 18))])
    _ = (adapter, publication)
  }

  /// Vol 3, Part F, 3.4.6.3: the parts are joined; a part behind the end is rejected, and no handler is called for it.
  @Test func joinsThePartsOfAQueuedWrite() async throws {
    let written = Mutex<[[UInt8]]>([])
    let (adapter, publication, attribute) = try await serve(
      LocalCharacteristic("2A19").readSynchronously { _ in [9, 9, 9] as [UInt8] }
        .writeSynchronously { octets, _ in written.withLock { $0.append(octets) } })
    write(RequestToken(number: 1), (attribute, 0, [1, 2]), (attribute, 2, [3, 4]))
    write(RequestToken(number: 2), (attribute, 2, [5]))
    write(RequestToken(number: 3), (attribute, 4, [6]))
    host.say(.server(client, .command(attribute, [7])))
    #expect(written.withLock { $0 } == [[1, 2, 3, 4], [9, 9, 5], [7]])
    #expect(answers == [.success([]), .success([]), .failure(.invalidOffset, attribute: attribute)])
    _ = (adapter, publication)
  }

  /// The value that the parts are joined to comes from a task.
  @Test func leavesToATaskWhatNeedsAnAsynchronousHandler() async throws {
    let written = Notes<[UInt8]>()
    let (adapter, publication, attribute) = try await serve(
      LocalCharacteristic("2A19").read { _ in [9, 9] as [UInt8] }.writeSynchronously { octets, _ in written.note(octets)
      })
    write(RequestToken(number: 1), (attribute, 1, [1]))
    #expect(try await written.next() == [9, 1])
    _ = (adapter, publication)
  }

  @Test func theLastHandlerOfAKindCounts() async throws {
    let (adapter, publication, attribute) = try await serve(
      LocalCharacteristic("2A19").readSynchronously { _ in UInt8(1) }.read { _ in UInt8(2) })
    read(attribute)
    while true {
      if case .respond(_, _, let answer) = try await host.next() {
        #expect(answer == .success([2]))
        break
      }
    }
    _ = (adapter, publication)
  }

  /// No lock of the adapter is held: the handler uses it as any other code.
  @Test func theHandlerMayCallTheAdapter() async throws {
    let adapter = try await host.open()
    let (publication, attribute) = try await host.publish(
      LocalCharacteristic("2A19").notify().readSynchronously { [weak adapter] device -> UInt8 in
        #expect(adapter?.state == .poweredOn && device.isConnected)
        Task { try await adapter?.serve([], advertisingAs: "Kit") }
        return UInt8(device.mtu)
      }, on: adapter)
    host.connect()
    read(attribute)
    #expect(answers == [.success([23])])
    while true { if case .advertising(.start) = try await host.next() { break } }
    _ = publication
  }

  @Test func theAdapterCanBeClosedInTheHandler() async throws {
    let adapter = try await host.open()
    let (publication, attribute) = try await host.publish(
      LocalCharacteristic("2A19").readSynchronously { [weak adapter] _ -> UInt8 in
        adapter?.close()
        return 1
      }, on: adapter)
    host.connect()
    read(attribute)
    #expect(!host.connection.isAttached)
    read(attribute)
    #expect(answers.count <= 1)
    _ = publication
  }

  @Test func aServiceThatIsWithdrawnHasNoHandler() async throws {
    let (adapter, publication, attribute) = try await serve(
      LocalCharacteristic("2A19").readSynchronously { _ -> UInt8 in
        Issue.record("the handler ran")
        return 1
      })
    let removal = Task { await publication.remove() }
    while true { if case .services(.remove) = try await host.next() { break } }
    read(attribute)
    #expect(answers.isEmpty)
    removal.cancel()
    await removal.value
    _ = adapter
  }

  /// GATT/SR/GAR/BI-05-C: the security of the link is checked before the handler is called.
  @Test func isNotCalledOnALinkWithoutTheSecurity() async throws {
    var pairing = PairingOptions()
    pairing.storage = .memory
    pairing.pairsOnDemand = false
    let air = try await OnTheAir(pairing: pairing)
    let service = air.service
    let characteristic = LocalCharacteristic("2A19").readSynchronously(security: .authenticated) { _ -> UInt8 in
      Issue.record("the handler ran")
      return 1
    }
    let kind = try await air.meet(characteristic) { device in
      do throws(BLEError) {
        _ = try await device.read("2A19", in: service)
        return nil as BLEError.Kind?
      } catch { return error.kind }
    }
    #expect(kind != nil)
  }

  /// Over the whole stack: reads, long reads, long writes and commands.
  @Test func servesADeviceOverTheRadio() async throws {
    let air = try await OnTheAir(maximumMTU: 23)
    let service = air.service
    let value = Mutex<[UInt8]>(Array(0..<100))
    let characteristic = LocalCharacteristic("2A3D").readSynchronously { _ in value.withLock { $0 } }
      .writeSynchronously(kinds: [.withResponse, .withoutResponse]) { octets, _ in value.withLock { $0 = octets } }
    let long = [UInt8](repeating: 7, count: 200)
    let values = try await air.meet(characteristic) { device in
      let first = try await device.read("2A3D", in: service)
      try await device.write(long, to: "2A3D", in: service)
      return [first, try await device.read("2A3D", in: service)]
    }
    #expect(values == [Array(0..<100), long])
  }
}

extension RequestAnswer {
  fileprivate var octets: [UInt8]? { if case .success(let octets) = self { octets } else { nil } }
}
