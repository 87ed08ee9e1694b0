import BLEWire
import Foundation
import TestSupport
import Testing

@testable import GatewayCore

/// Several gateways that receive each other's claims, with the clock in the hands of the test.
private struct Gateways {
  var machines: [String: DeviceClaims] = [:]
  var now = Duration.zero
  let device = DeviceAddress(octets: BD_ADDR(0xC0_11_22_33_44_55), kind: .random)

  init(_ names: String...) {
    for name in names {
      machines[name] = DeviceClaims(gateway: name)
      machines[name]?.brokerChanged(isConnected: true, now: now)
    }
  }

  /// The gateways that serve the device.
  var serving: [String] { machines.keys.sorted().filter { machines[$0]?.serves(device) == true } }

  /// Lets seconds pass, in each of which every named gateway hears the device.
  mutating func pass(_ seconds: Int, heard: [String: Int] = [:], separated: Set<String> = []) {
    for _ in 0..<seconds {
      now += .seconds(1)
      for (name, rssi) in heard { machines[name]?.heard(device, rssi: rssi, now: now) }
      for name in machines.keys.sorted() { _ = machines[name]?.update(now: now) }
      for name in machines.keys.sorted() where !separated.contains(name) {
        for (address, claim) in machines[name]?.claimsToPublish(now: now) ?? [] {
          for other in machines.keys where !separated.contains(other) {
            machines[other]?.received(claim, of: name, for: address, now: now)
          }
        }
      }
    }
  }
}

private func address(_ number: UInt64, _ kind: DeviceAddress.Kind = .random) -> DeviceAddress {
  DeviceAddress(octets: BD_ADDR(number), kind: kind)
}

struct DeviceClaimsTests {
  /// A message of any client of the broker.
  @Test(arguments: ["9223372036854775807", "-9223372036854775808", "128", "-129", "1e400", "0.5"])
  func aClaimWithAnImpossibleSignalIsNoClaim(rssi: String) {
    let payload = Data(#"{"rssi":\#(rssi),"serves":true,"connected":false}"#.utf8)
    #expect(throws: DecodingError.self) { try JSONDecoder().decode(DeviceClaims.Claim.self, from: payload) }
  }

  @Test(arguments: [Int8.min, Int8.max], [false, true]) func claimsAtTheLimitsOfTheSignalAreOrdered(
    rssi: Int8, serves: Bool
  ) {
    var gateways = Gateways("a", "b")
    gateways.pass(12, heard: ["a": -50])
    for _ in 0..<60 {
      gateways.machines["a"]?.received(
        .init(rssi: rssi, serves: serves, connected: false), of: "x", for: gateways.device, now: gateways.now)
      gateways.pass(1, heard: ["a": -50, "b": Int(rssi) * 1000])
    }
    #expect(gateways.serving.count <= 1)
  }

  @Test func addressesOfTwoKindsAreTwoDevices() {
    var claims = DeviceClaims(gateway: "a")
    claims.brokerChanged(isConnected: true, now: .zero)
    claims.heard(address(1, .public), rssi: -50, now: .seconds(1))
    #expect(claims.update(now: .seconds(3)) == [.taken(address(1, .public))])
    claims.heard(address(1, .random), rssi: -40, now: .seconds(4))
    #expect(claims.update(now: .seconds(5)) == [.taken(address(1, .random))])
    #expect(claims.count == 2 && claims.serves(address(1, .public)))
  }

  /// A gateway that comes and goes does not make the others publish everything each time.
  @Test func claimsArePublishedAgainForANewGatewayAtMostOnceInTheSettlingTime() {
    var claims = DeviceClaims(gateway: "a")
    claims.brokerChanged(isConnected: true, now: .zero)
    var published = 0
    for millisecond in stride(from: 4000, to: 10_000, by: 100) {
      claims.heard(address(1), rssi: -50, now: .milliseconds(millisecond))
      _ = claims.update(now: .milliseconds(millisecond))
      claims.gatewayAppeared(now: .milliseconds(millisecond))
      published += claims.claimsToPublish(now: .milliseconds(millisecond)).count
    }
    // At 4 s, and 7 s.
    #expect(published == 2)
  }

  @Test func aSingleGatewayServesWhatItHears() {
    var gateways = Gateways("a")
    gateways.pass(5, heard: ["a": -90])
    #expect(gateways.serving == ["a"])
  }

  @Test func nothingIsTakenBeforeTheClaimsOfOthersCanArrive() {
    var gateways = Gateways("a")
    gateways.pass(2, heard: ["a": -40])
    #expect(gateways.serving == [])
  }

  @Test func theStrongestSignalServes() {
    var gateways = Gateways("a", "b", "c")
    gateways.pass(12, heard: ["a": -70, "b": -50, "c": -60])
    #expect(gateways.serving == ["b"])
  }

  @Test func ofEqualSignalsTheFirstNameServes() {
    var gateways = Gateways("b", "a")
    gateways.pass(12, heard: ["a": -60, "b": -60])
    #expect(gateways.serving == ["a"])
  }

  @Test func aSlightlyStrongerSignalTakesNothingOver() {
    var gateways = Gateways("a", "b")
    gateways.pass(12, heard: ["a": -60])
    gateways.pass(60, heard: ["a": -60, "b": -55])
    #expect(gateways.serving == ["a"])
  }

  @Test func aSignalStrongerByTheHysteresisTakesOver() {
    var gateways = Gateways("a", "b")
    gateways.pass(12, heard: ["a": -60])
    gateways.pass(60, heard: ["a": -60, "b": -54])
    #expect(gateways.serving == ["b"])
  }

  @Test func aConnectedGatewayKeepsTheDevice() {
    var gateways = Gateways("a", "b")
    gateways.pass(12, heard: ["a": -80])
    gateways.machines["a"]?.connectionChanged(gateways.device, isConnected: true, now: gateways.now)
    gateways.pass(60, heard: ["b": -40])
    #expect(gateways.serving == ["a"])
    gateways.machines["a"]?.connectionChanged(gateways.device, isConnected: false, now: gateways.now)
    gateways.pass(45, heard: ["b": -40])
    #expect(gateways.serving == ["b"])
  }

  @Test func aGatewayReportsTheDevicesOfOthers() {
    var gateways = Gateways("a", "b")
    func isOfAnother(_ name: String) -> Bool? {
      gateways.machines[name]?.isServedByAnother(gateways.device, now: gateways.now)
    }
    gateways.pass(10, heard: ["a": -50, "b": -80])
    #expect(isOfAnother("a") == false && isOfAnother("b") == true)
    gateways.pass(71, heard: ["b": -80])
    #expect(gateways.serving == ["b"])
    #expect(isOfAnother("a") == true && isOfAnother("b") == false)
    gateways.pass(71)
    #expect(isOfAnother("a") == false)
  }

  @Test func aGatewayThatIsGoneLosesItsDevices() {
    var gateways = Gateways("a", "b")
    gateways.pass(12, heard: ["a": -50, "b": -80])
    gateways.machines["a"] = nil
    gateways.pass(20, heard: ["b": -80])
    #expect(gateways.serving == [])
    gateways.pass(15, heard: ["b": -80])
    #expect(gateways.serving == ["b"])
  }

  @Test func theWillOfAGatewayVoidsItsClaimsAtOnce() {
    var gateways = Gateways("a", "b")
    gateways.pass(12, heard: ["a": -50, "b": -80])
    gateways.machines["a"] = nil
    gateways.machines["b"]?.gatewayEnded("a")
    gateways.pass(1, heard: ["b": -80])
    #expect(gateways.serving == ["b"])
  }

  @Test func aDeviceThatNobodyHearsIsReleasedAndForgotten() {
    var gateways = Gateways("a")
    gateways.pass(5, heard: ["a": -50])
    gateways.pass(31)
    #expect(gateways.serving == [])
    #expect(gateways.machines["a"]?.count == 0)
  }

  @Test func nothingChangesWhileTheBrokerIsAway() {
    var gateways = Gateways("a", "b")
    gateways.pass(12, heard: ["a": -50, "b": -80])
    for name in ["a", "b"] { gateways.machines[name]?.brokerChanged(isConnected: false, now: gateways.now) }
    gateways.pass(60, heard: ["b": -40], separated: ["a", "b"])
    #expect(gateways.serving == ["a"])
  }

  @Test func twoThatServeTheSameDeviceAgreeWhenTheyMeet() {
    var gateways = Gateways("a", "b")
    gateways.pass(12, heard: ["a": -60, "b": -70], separated: ["a", "b"])
    #expect(gateways.serving == ["a", "b"])
    gateways.machines["a"]?.gatewayAppeared(now: gateways.now)
    gateways.machines["b"]?.gatewayAppeared(now: gateways.now)
    gateways.pass(2, heard: ["a": -60, "b": -70])
    #expect(gateways.serving == ["a"])
  }

  @Test(arguments: 1...20)
  func exactlyOneServesWhateverTheSignals(seed: UInt64) {
    var generator = SplitMix64(seed: seed)
    var gateways = Gateways("a", "b", "c", "d")
    for _ in 0..<20 {
      let heard = Dictionary(
        uniqueKeysWithValues: ["a", "b", "c", "d"].map { ($0, Int.random(in: -100 ... -30, using: &generator)) })
      gateways.pass(Int.random(in: 1...20, using: &generator), heard: heard)
    }
    gateways.pass(30, heard: ["a": -50, "b": -58, "c": -59, "d": -90])
    #expect(gateways.serving.count == 1)
  }

  @Test func theNumberOfDevicesIsLimited() {
    var claims = DeviceClaims(gateway: "a")
    for number in 0..<UInt64(DeviceClaims.deviceLimit + 10) {
      claims.heard(address(number), rssi: -50, now: .milliseconds(Int(number)))
    }
    #expect(claims.count == DeviceClaims.deviceLimit)
    #expect(!claims.isKnown(address(9), now: .seconds(5)))
    #expect(claims.isKnown(address(10), now: .seconds(5)))
  }

  /// A gateway that is alone serves whatever it hears: addresses that change all the time must not cost a sensor its
  /// connection.
  @Test func aConnectedDeviceKeepsItsPlaceAmongAddressesThatChange() {
    var claims = DeviceClaims(gateway: "a")
    claims.brokerChanged(isConnected: true, now: .zero)
    claims.heard(address(0), rssi: -50, now: .seconds(1))
    #expect(claims.update(now: .seconds(4)) == [.taken(address(0))])
    claims.connectionChanged(address(0), isConnected: true, now: .seconds(4))
    for number in 1..<UInt64(DeviceClaims.deviceLimit) { claims.heard(address(number), rssi: -50, now: .seconds(5)) }
    #expect(claims.update(now: .seconds(9)).count == DeviceClaims.deviceLimit - 1)
    claims.heard(address(UInt64(DeviceClaims.deviceLimit)), rssi: -50, now: .seconds(10))
    #expect(claims.count == DeviceClaims.deviceLimit && claims.serves(address(0)))
  }

  /// The weakest makes room, so that many gateways with weak signals do not hide the one that serves the device.
  @Test func theNumberOfGatewaysOfADeviceIsLimited() {
    var claims = DeviceClaims(gateway: "a")
    claims.brokerChanged(isConnected: true, now: .zero)
    claims.heard(address(1), rssi: -50, now: .seconds(1))
    for number in 0..<DeviceClaims.gatewayLimit - 1 {
      claims.received(
        .init(rssi: -80, serves: false, connected: false), of: "g\(number)", for: address(1), now: .seconds(1))
    }
    claims.received(.init(rssi: -20, serves: true, connected: false), of: "near", for: address(1), now: .seconds(1))
    claims.received(.init(rssi: -81, serves: false, connected: false), of: "far", for: address(1), now: .seconds(1))
    #expect(claims.gateways(of: address(1)) == DeviceClaims.gatewayLimit)
    #expect(claims.update(now: .seconds(4)) == [])
  }

  @Test func aClaimIsPublishedEveryTenSecondsAndWhenItChanges() {
    var claims = DeviceClaims(gateway: "a")
    claims.brokerChanged(isConnected: true, now: .zero)
    let device = address(1)
    var published: [Int] = []
    for second in 1...25 {
      claims.heard(device, rssi: -50, now: .seconds(second))
      _ = claims.update(now: .seconds(second))
      if !claims.claimsToPublish(now: .seconds(second)).isEmpty { published.append(second) }
    }
    // At 3 s it begins to serve the device.
    #expect(published == [1, 3, 13, 23])
  }
}
