import BLEHCI
import BLEWire

/// The commands of an advertisement's steps, as legacy and as extended ones (Vol 4, Part E, 7.8.5 and 7.8.53).
extension HostCore {
  mutating func sendLegacy(
    _ step: AdvertisingStep, _ advertisement: Advertisement, now: Instant, into output: inout HostOutput
  ) {
    let purpose = Purpose.advertising(advertisement.id, step)
    let intent = advertisement.intent
    switch step {
    case .parameters, .randomAddress:
      let own = ownAddressType
      let command = HCI.LESetAdvertisingParameters {
        $0.advertisingIntervalMin = intent.interval.lowerBound
        $0.advertisingIntervalMax = intent.interval.upperBound
        $0.advertisingType =
          intent.isConnectable
          ? .connectableUndirected : intent.scanResponse.isEmpty ? .nonConnectable : .scannableUndirected
        $0.ownAddressType = own
      }
      send(command, for: purpose, now: now, into: &output)
    case .data:
      send(HCI.LESetAdvertisingData { $0.advertisingData = intent.data[...] }, for: purpose, now: now, into: &output)
    case .scanResponse:
      let command = HCI.LESetScanResponseData { $0.scanResponseData = intent.scanResponse[...] }
      send(command, for: purpose, now: now, into: &output)
    case .enable, .hold, .disable, .remove:
      let command = HCI.LESetAdvertisingEnable { $0.advertisingEnable = step == .enable }
      send(command, for: purpose, now: now, into: &output)
    }
  }

  mutating func sendExtended(
    _ step: AdvertisingStep, _ advertisement: Advertisement, now: Instant, into output: inout HostOutput
  ) {
    let purpose = Purpose.advertising(advertisement.id, step)
    let (intent, set) = (advertisement.intent, advertisement.set)
    switch step {
    case .parameters:
      send(extendedParameters(of: advertisement), for: purpose, now: now, into: &output)
    case .randomAddress:
      let address = (advertisement.address ?? addressOnAir).octets
      let command = HCI.LESetAdvertisingSetRandomAddress {
        $0.advertisingHandle = set
        $0.randomAddress = address
      }
      send(command, for: purpose, now: now, into: &output)
    case .data:
      let command = HCI.LESetExtendedAdvertisingData {
        $0.advertisingHandle = set
        $0.operation = .complete
        $0.fragmentPreference = .controllerShouldNotFragment
        $0.advertisingData = intent.data[...]
      }
      send(command, for: purpose, now: now, into: &output)
    case .scanResponse:
      let command = HCI.LESetExtendedScanResponseData {
        $0.advertisingHandle = set
        $0.operation = .complete
        $0.fragmentPreference = .controllerShouldNotFragment
        $0.scanResponseData = intent.scanResponse[...]
      }
      send(command, for: purpose, now: now, into: &output)
    case .enable, .hold, .disable:
      let command = HCI.LESetExtendedAdvertisingEnable {
        $0.enable = step == .enable
        $0.sets = [HCI.EnabledAdvertisingSet { $0.advertisingHandle = set }]
      }
      send(command, for: purpose, now: now, into: &output)
    case .remove:
      send(HCI.LERemoveAdvertisingSet { $0.advertisingHandle = set }, for: purpose, now: now, into: &output)
    }
  }

  private func extendedParameters(of advertisement: Advertisement) -> HCI.LESetExtendedAdvertisingParameters {
    let intent = advertisement.intent
    let own = ownAddressType
    return HCI.LESetExtendedAdvertisingParameters {
      $0.advertisingHandle = advertisement.set
      var properties: HCI.AdvertisingEventProperties = intent.usesExtendedPDUs ? [] : .legacy
      if intent.isConnectable { properties.insert(.connectable) }
      if intent.usesExtendedPDUs {
        if !intent.scanResponse.isEmpty { properties.insert(.scannable) }
      } else if intent.isConnectable || !intent.scanResponse.isEmpty {
        properties.insert(.scannable)
      }
      $0.advertisingEventProperties = properties
      $0.primaryAdvertisingIntervalMin = UInt32(intent.interval.lowerBound)
      $0.primaryAdvertisingIntervalMax = UInt32(intent.interval.upperBound)
      $0.ownAddressType = own
      $0.advertisingTXPower = 127
      $0.primaryAdvertisingPHY = .le1M
      $0.secondaryAdvertisingPHY = .le1M
      $0.advertisingSID = advertisement.set & 0x0F
    }
  }
}
