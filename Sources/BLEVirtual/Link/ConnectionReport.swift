internal import BLEHCI
internal import BLEWire

/// The fields of a connection complete event.
struct ConnectionReport: Sendable {
  var status = HCIErrorCode.success
  var handle = ConnectionHandle(rawValue: 0)
  var role: HCI.Role
  var peerAddress: DeviceAddress
  var localResolvableAddress: BD_ADDR?
  var peerResolvableAddress: BD_ADDR?
  var timing = LinkLayerTiming(interval: 0, latency: 0, timeout: 0)

  /// Sends the event that the host has unmasked. The enhanced event has precedence. The other one has no address types
  /// for identities that the controller has resolved (Vol 4, Part E, 7.7.65.1 and 7.7.65.10).
  func send(to host: HostInterface, _ context: inout VirtualRadioContext) {
    if host.allows(.enhancedConnectionComplete) {
      host.send(
        HCI.LEEnhancedConnectionComplete {
          $0.status = status
          $0.connectionHandle = handle
          $0.role = role
          $0.peerAddress = peerAddress
          $0.localResolvablePrivateAddress = localResolvableAddress ?? BD_ADDR()
          $0.peerResolvablePrivateAddress = peerResolvableAddress ?? BD_ADDR()
          $0.connectionInterval = timing.interval
          $0.peripheralLatency = timing.latency
          $0.supervisionTimeout = timing.timeout
        }, &context)
    } else {
      host.send(
        HCI.LEConnectionComplete {
          $0.status = status
          $0.connectionHandle = handle
          $0.role = role
          $0.peerAddress = peerAddress.identity
          $0.connectionInterval = timing.interval
          $0.peripheralLatency = timing.latency
          $0.supervisionTimeout = timing.timeout
        }, &context)
    }
  }
}
