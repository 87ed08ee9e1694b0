import BLEHCI
import BLEHost

/// The links themselves, which CoreBluetooth hides.
extension PeripheralManager {
  /// Asks a central for other timing. ``PeripheralManagerDelegate/peripheralManager(_:didUpdateConnectionOf:timing:error:)``
  /// tells what became of it; values outside of the limits are refused there with ``BluetoothError/invalidParameters``.
  public final func requestConnectionParameters(_ request: ConnectionParameterRequest, for central: Central) {
    guard accepts("requestConnectionParameters") else { return }
    guard let parameters = request.parameters else {
      let error = BluetoothError(
        .invalidParameters,
        "\(request) is not allowed: 7.5 ms to 4 s, latency 0 to 499, timeout 100 ms to 32 s and longer than 2 × interval × (latency + 1)"
      )
      run { $1.calls.append(.connectionUpdated(central, nil, error)) }
      return
    }
    run { $0.command("requestConnectionParameters", central, { .updateConnection($0, parameters) }, into: &$1) }
  }

  /// Ends the link of a central. It learns that the other side ended it (0x13).
  public final func cancelConnection(of central: Central) {
    guard accepts("cancelConnection") else { return }
    run { $0.command("cancelConnection", central, { .disconnect($0, .remoteUserTerminatedConnection) }, into: &$1) }
  }

  /// Asks for the strength of a central's signal; ``PeripheralManagerDelegate/peripheralManager(_:didReadRSSI:of:error:)``
  /// answers.
  public final func readRSSI(of central: Central) {
    guard accepts("readRSSI") else { return }
    run { $0.command("readRSSI", central, { .readRSSI($0) }, into: &$1) }
  }

  /// Asks a central to pair, or to encrypt the link with the keys of an earlier pairing (Vol 3, Part H, 3.6.7).
  public final func requestSecurity(of central: Central) {
    guard accepts("requestSecurity") else { return }
    run { $0.command("requestSecurity", central, { .requestSecurity($0) }, into: &$1) }
  }
}
