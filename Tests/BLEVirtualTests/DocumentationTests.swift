import BLEHCI
import BLEVirtual
import BLEWire
import Testing

/// The examples of Docs/VirtualRadio.md and of the types' comments, as they stand there.
struct DocumentationTests {
  @Test func firstConversation() {
    var radio = VirtualRadio(seed: 1)
    var output = VirtualRadioOutput()
    var now = Instant.start

    let lamp = radio.attach(now: now)
    let phone = radio.attach(now: now)

    func send(_ command: some HCICommand, from host: ControllerID) {
      var octets: [UInt8] = []
      octets.append(hci: command)
      radio.receive(octets[...], from: host, now: now, into: &output)
    }

    send(HCI.SetEventMask { $0.eventMask = .init(rawValue: .max) }, from: phone)
    send(HCI.LESetScanEnable { $0.scanEnable = true }, from: phone)
    send(HCI.LESetAdvertisingData { $0.advertisingData = [0x02, 0x01, 0x06] }, from: lamp)
    send(HCI.LESetAdvertisingEnable { $0.advertisingEnable = true }, from: lamp)
    #expect(output.count == 4)

    now = now + .seconds(10)
    radio.tick(now: now, into: &output)
    #expect(output.packets(for: phone).count >= 2 + 7 && output.packets(for: lamp).count == 2)
    output.removeAll()
    #expect(output.isEmpty)
  }

  @Test func reset() {
    var radio = VirtualRadio(seed: 1)
    var output = VirtualRadioOutput()
    let id = radio.attach(now: .start)
    radio.receive([0x01, 0x03, 0x0C, 0x00], from: id, now: .start, into: &output)
    #expect(output.count == 1 && output.destination(0) == id && output[0].hexadecimal == "040e0401030c00")
  }

  @Test func smallController() {
    var small = VirtualControllerConfiguration()
    small.aclDataPacketLength = 27
    small.totalNumACLDataPackets = 1
    small.features.remove(.extendedAdvertising)
    var radio = VirtualRadio()
    let id = radio.attach(small, now: .start)
    #expect(radio.attached == [id] && radio.complaints(about: id).isEmpty)
    radio.detach(id, now: .start)
    #expect(radio.attached.isEmpty && radio.publicAddress(of: id) == nil)
  }
}
