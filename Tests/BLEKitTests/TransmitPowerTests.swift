import AdapterFixtures
import BLEATT
import BLEAdapter
import BLEHCI
import BLEHost
import BLEWire
import Testing

@testable import BLEKit

/// The transmit power and the path loss of a link. The test plays the host.
@Suite struct TransmitPowerTests {
  private let host = ScriptedHost()
  private let peer = ScriptedHost.client

  private func link() async throws -> RemoteDevice {
    let adapter = try await host.open()
    var links = adapter.connections.makeAsyncIterator()
    host.connect()
    guard let device = await links.next() else { throw CancellationError() }
    return device
  }

  /// The next command, which is about power.
  private func next() async throws -> LinkPowerCommand {
    guard case .link(peer, .power(let command)) = try await host.next() else { throw CancellationError() }
    return command
  }

  private func say(_ event: LinkPowerEvent) { host.say(.link(peer, .power(event))) }

  @Test func bothPowersAreRead() async throws {
    let device = try await link()
    #expect(device.transmitPower == ConnectionTransmitPower())
    let reading = Task { try await device.readTransmitPower(timeout: nil) }
    #expect(try await next() == .read(.local))
    say(.level(.local, .success(8)))
    #expect(try await next() == .read(.remote))
    say(.level(.remote, .success(-12)))
    let power = try await reading.value
    #expect(power == ConnectionTransmitPower(local: 8, remote: -12) && device.transmitPower == power)
  }

  /// The controller, or the device, does not have what is needed for one of them.
  @Test(arguments: [
    HostError.controller(.leReadRemoteTransmitPowerLevel, .unsupportedRemoteFeature), .unsupported("LE Power Control"),
  ]) func aPowerThatIsNotKnownIsNil(_ error: HostError) async throws {
    let device = try await link()
    let reading = Task { try await device.readTransmitPower(timeout: nil) }
    _ = try await next()
    say(.level(.local, .success(-4)))
    _ = try await next()
    say(.level(.remote, .failure(error)))
    #expect(try await reading.value == ConnectionTransmitPower(local: -4))
  }

  @Test func otherFailuresAreErrors() async throws {
    let device = try await link()
    let first = Task { try await device.readTransmitPower(timeout: nil) }
    _ = try await next()
    say(.level(.local, .failure(.notPoweredOn)))
    await expectThrows(.adapterUnavailable) { _ = try await first.value }
    let neither = Task { try await device.readTransmitPower(timeout: nil) }
    for end in [LinkPowerEnd.local, .remote] {
      _ = try await next()
      say(.level(end, .failure(.unsupported("LE Power Control"))))
    }
    await expectThrows(.unsupported) { _ = try await neither.value }
    let ending = Task { try await device.readTransmitPower(timeout: nil) }
    _ = try await next()
    host.say(.link(peer, .disconnected(.connectionTimeout)))
    await expectThrows(.disconnected) { _ = try await ending.value }
    #expect(device.transmitPower == nil)
    await expectThrows(.disconnected) { _ = try await device.readTransmitPower() }
    await expectThrows(.disconnected) { _ = try device.transmitPowerChanges() }
    await expectThrows(.disconnected) { _ = try device.pathLossZones(PathLossThresholds(low: 1, high: 2)) }
  }

  @Test func changesAreReportedWhileTheyAreRead() async throws {
    let device = try await link()
    let first = Task {
      for try await power in try device.transmitPowerChanges() where power.remote == 4 { return power }
      throw CancellationError()
    }
    #expect(try await next() == .report(true))
    // A second reader needs no command.
    var second: ConnectionReports? = try device.transmitPowerChanges()
    var iterator = second?.makeAsyncIterator()
    say(.level(.local, .success(8)))
    say(.level(.local, .success(8)))
    say(.level(.remote, .success(4)))
    #expect(try await first.value == ConnectionTransmitPower(local: 8, remote: 4))
    #expect(try await iterator?.next() == ConnectionTransmitPower(local: 8))
    #expect(try await iterator?.next() == ConnectionTransmitPower(local: 8, remote: 4))
    (second, iterator) = (nil, nil)
    _ = second
    #expect(try await next() == .report(false))
    let refused = Task { for try await _ in try device.transmitPowerChanges() {} }
    #expect(try await next() == .report(true))
    say(.notReported(.unsupported("LE Power Control")))
    await expectThrows(.unsupported) { try await refused.value }
  }

  @Test func zonesAreReportedWhileTheyAreRead() async throws {
    let device = try await link()
    let thresholds = PathLossThresholds(low: 50, high: 75, hysteresis: 3, minimumEvents: 10)
    let first = Task {
      for try await loss in try device.pathLossZones(thresholds) where loss.zone == .high { return loss.decibels }
      throw CancellationError()
    }
    let parameters = PathLossParameters(low: 50, high: 75, lowHysteresis: 3, highHysteresis: 3, minimumTime: 10)
    #expect(try await next() == .monitorPathLoss(parameters))
    say(.pathLoss(.success(LinkPathLoss(zone: 0, loss: 40))))
    await host.connection.untilTaken(3)
    // A second reader begins with the zone that is in force, and has the same thresholds.
    var zones = try device.pathLossZones(thresholds).makeAsyncIterator()
    #expect(try await zones.next() == PathLoss(zone: .low, decibels: 40))
    await expectThrows(.invalidArgument) { _ = try device.pathLossZones(PathLossThresholds(low: 50, high: 76)) }
    say(.pathLoss(.success(LinkPathLoss(zone: 2, loss: 80))))
    #expect(try await first.value == 80)
    #expect(try await zones.next() == PathLoss(zone: .high, decibels: 80))
    say(.pathLoss(.failure(.unsupported("path loss"))))
    await #expect(throws: BLEError.self) { try await zones.next() }
    #expect(try await next() == .monitorPathLoss(nil))
  }

  @Test(arguments: [
    PathLossThresholds(low: 60, high: 50), PathLossThresholds(low: -1, high: 50), PathLossThresholds(low: 1, high: 256),
    PathLossThresholds(low: 50, high: 55, hysteresis: 3), PathLossThresholds(low: 2, high: 55, hysteresis: 3),
    PathLossThresholds(low: 50, high: 55, minimumEvents: 65_536), PathLossThresholds(low: 50, high: 55, hysteresis: -1),
  ]) func thresholdsOutsideTheLimitsAreInvalid(_ thresholds: PathLossThresholds) async throws {
    let device = try await link()
    await expectThrows(.invalidArgument) { _ = try device.pathLossZones(thresholds) }
  }
}
