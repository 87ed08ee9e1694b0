internal import CBluetoothLinux

/// What the kernel's own Bluetooth stack offers here.
package enum KernelBluetooth {
  /// Why `transport`, which leads through the kernel's stack, cannot be opened.
  package static func refusal(of transport: String, through system: SystemCalls = .kernel) -> TransportError {
    do throws(SystemError) {
      let type = Int32(SOCK_RAW.rawValue | SOCK_CLOEXEC.rawValue)
      let probe = Descriptor(
        adopting: try system(.socket) { socket(AF_BLUETOOTH, type, Int32(BTPROTO_HCI)) })
      _ = consume probe
    } catch {
      if error.number == EAFNOSUPPORT || error.number == EPROTONOSUPPORT {
        return TransportError(
          .unavailable, at: transport, "this kernel has no Bluetooth, or keeps it from this container",
          remedy: "sudo modprobe bluetooth, or take another transport, such as virtual", cause: error)
      }
      if error.number == EPERM || error.number == EACCES {
        return TransportError(
          .noPermission, at: transport, "the adapter may not be opened",
          remedy: "sudo setcap cap_net_raw,cap_net_admin+eip on the program", cause: error)
      }
    }
    return TransportError(
      .unsupported, at: transport, "this version does not drive adapters through the kernel",
      remedy: "take serial:…, tcp-client:…, unix-client:… or virtual")
  }
}
