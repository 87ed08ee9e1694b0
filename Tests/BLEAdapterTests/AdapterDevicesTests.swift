import BLEHCI
import BLEHost
import BLEWire
import Testing

@testable import BLEAdapter

/// The devices that all clients of an adapter know.
@Suite struct AdapterDevicesTests {
  private func address(_ number: UInt64) -> DeviceAddress {
    DeviceAddress(octets: BD_ADDR(0xC000_0000_0000 + number), kind: .random)
  }

  private func connection(_ number: UInt64) -> HostEvent {
    let timing = LinkTiming(interval: 24, latency: 0, supervisionTimeout: 500)
    return .connected(
      ConnectedLink(
        peer: LinkID(rawValue: UInt32(number)), address: address(number), role: .central, timing: timing))
  }

  @Test func connectedDevicesAreFoundByTheirServices() {
    let devices = AdapterDevices()
    devices.note(.seen(address(1), name: nil, services: ["180D"]))
    devices.receive(connection(1))
    devices.receive(connection(2))
    devices.note(.discovered(["180F"], on: LinkID(rawValue: 2)))
    #expect(devices.connected(with: ["180D"]).map(\.address) == [address(1)])
    #expect(devices.connected(with: ["180F", "180D"]).map(\.address) == [address(1), address(2)])
    devices.receive(.link(LinkID(rawValue: 1), .disconnected(.connectionTimeout)))
    #expect(devices.connected(with: ["180D"]).isEmpty && !devices.isUp(LinkID(rawValue: 1)))
    devices.receive(.state(.resetting, nil))
    #expect(devices.connected(with: ["180F"]).isEmpty)
    #expect(devices.device(of: PeerIdentifier(address(2)))?.address == address(2))
  }

  @Test func aLinkOfAnotherProgramCountsWithTheServicesThatAreKnown() {
    let devices = AdapterDevices()
    devices.note(.seen(address(1), name: nil, services: ["180D"]))
    for number in 1...2 as ClosedRange<UInt64> { devices.receive(.foreignLink(address(number), isUp: true)) }
    #expect(devices.connected(with: ["180D"]).map(\.address) == [address(1)])
    // The second one has been discovered in an earlier run.
    func stored(_ device: DeviceAddress) -> [BluetoothUUID] { device == address(2) ? ["180F"] : [] }
    #expect(devices.connected(with: ["180F"], stored: stored).map(\.address) == [address(2)])
    #expect(devices.connected(with: ["180D", "180F"], stored: stored).count == 2)
    devices.receive(.foreignLink(address(1), isUp: false))
    #expect(devices.connected(with: ["180D"]).isEmpty)
    devices.receive(.state(.poweredOff, nil))
    #expect(devices.connected(with: ["180F"], stored: stored).isEmpty)
  }

  @Test func theNumberOfDevicesIsBounded() {
    let devices = AdapterDevices()
    devices.receive(connection(1))
    devices.note(.seen(address(2), name: "second", services: []))
    for number in 3..<UInt64(AdapterDevices.limit + 2) { devices.note(.seen(address(number), name: nil, services: [])) }
    #expect(devices.device(of: PeerIdentifier(address(1))) != nil, "it is connected")
    #expect(devices.device(of: PeerIdentifier(address(2))) == nil)
    #expect(devices.device(of: PeerIdentifier(address(3))) != nil)
  }

  /// Names and services are limited in octets, whatever the number of devices; a connected device stays.
  @Test func theMemoryOfNamesAndServicesIsBounded() {
    let devices = AdapterDevices()
    let services = (0..<818).map { BluetoothUUID(UInt16($0)) }
    devices.receive(connection(1))
    devices.note(.seen(address(1), name: nil, services: services))
    let each = devices.allocatedOctets
    #expect(each >= 818 * 2 && each <= 818 * 3 + 64, "a UUID takes little more than its octets")
    // Devices that are as large as fit, then one past the limit: a new device, and a longer name of one that is there.
    let name = String(repeating: "N", count: 30_000)
    devices.note(.seen(address(2), name: name, services: ["180D"]))
    let count = UInt64((AdapterDevices.maximumOctets - each) / (devices.allocatedOctets - each))
    for number in 3...count + 1 { devices.note(.seen(address(number), name: name, services: ["180D"])) }
    let all = devices.allocatedOctets
    #expect(all > AdapterDevices.maximumOctets - 30_000 && all <= AdapterDevices.maximumOctets)
    #expect(devices.services(of: address(2)) == ["180D"])
    devices.note(.seen(address(count + 2), name: name, services: ["180D"]))
    #expect(devices.services(of: address(2)).isEmpty && devices.services(of: address(3)) == ["180D"])
    #expect(devices.allocatedOctets <= AdapterDevices.maximumOctets)
    devices.note(.named(address(count + 2), name + name))
    #expect(devices.services(of: address(3)).isEmpty && devices.services(of: address(count + 2)) == ["180D"])
    #expect(devices.allocatedOctets <= AdapterDevices.maximumOctets)
    #expect(devices.services(of: address(1)) == services, "it is connected")
  }

  @Test func servicesAreAsTheyWereAdvertised() {
    let devices = AdapterDevices()
    let services: [BluetoothUUID] = ["180D", "0000180F", "E20A39F4-73F5-4BC4-A12F-17D1AD07A961", "1805"]
    devices.note(.seen(address(1), name: "Clock", services: services))
    let device = devices.device(of: PeerIdentifier(address(1)))
    #expect(device == AdapterDevices.Device(address: address(1), name: "Clock", services: services))
    #expect(device?.services.map(\.size) == services.map(\.size))
    devices.note(.seen(address(1), name: nil, services: []))
    #expect(devices.device(of: PeerIdentifier(address(1))) == device)
  }

  /// A peer can have other services for each discovery.
  @Test func theServicesOfALinkAreBounded() {
    let devices = AdapterDevices()
    devices.receive(connection(1))
    let services = (0...UInt32(AdapterDevices.linkServiceLimit)).map { BluetoothUUID(uuid32: 0x10_0000 + $0) }
    for part in [services[0..<4000], services[3000...]] {
      devices.note(.discovered(Array(part), on: LinkID(rawValue: 1)))
    }
    #expect(devices.services(of: address(1)) == Array(services.dropLast()))
  }
}
