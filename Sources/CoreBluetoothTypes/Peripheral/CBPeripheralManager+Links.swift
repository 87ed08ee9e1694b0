public import BLEAdapter
import BLEHCI
public import BLEHost

/// The links themselves, which CoreBluetooth hides.
extension CBPeripheralManager {
  /// Requests other timing from a central.
  /// ``CBPeripheralManagerDelegate/peripheralManager(_:didUpdateConnectionOf:timing:error:)`` reports the result.
  /// Values outside the limits are rejected with ``CBError/invalidParameters``.
  public final func requestConnectionParameters(_ request: ConnectionParameterRequest, for central: CBCentral) {
    guard accepts("requestConnectionParameters") else { return }
    guard let parameters = request.parameters else {
      let error = CBError(
        .invalidParameters,
        "\(request) is not allowed: 7.5 ms to 4 s, latency 0 to 499, timeout 100 ms to 32 s and longer than 2 × interval × (latency + 1)"
      )
      run { $0.refuseConnectionUpdate("requestConnectionParameters", of: central, error, into: &$1) }
      return
    }
    run { $0.command("requestConnectionParameters", central, .updateConnection(parameters), into: &$1) }
  }

  /// Requests an interval that may be shorter than 7.5 ms, with subrating, from a central (Bluetooth 6.2; Vol 4, Part
  /// E, 7.8.154). ``CBPeripheralManagerDelegate/peripheralManager(_:didUpdateConnectionOf:timing:error:)`` reports the
  /// result.
  ///
  /// Errors: ``CBError/invalidParameters`` for values that `ConnectionRateRequest` or the controller does not allow,
  /// and while another request for the link is outstanding; ``CBError/operationNotSupported`` where the adapter or the
  /// central has no shorter connection intervals, which the text says.
  public final func requestConnectionRate(_ request: ConnectionRateRequest, for central: CBCentral) {
    guard accepts("requestConnectionRate") else { return }
    guard let parameters = request.parameters else {
      let error = CBError(outside: request)
      return run { $0.refuseConnectionUpdate("requestConnectionRate", of: central, error, into: &$1) }
    }
    run { $0.command("requestConnectionRate", central, .requestConnectionRate(parameters), into: &$1) }
  }

  /// Requests the data length, the PHY and the timing of a priority on a central's link, as far as both devices support
  /// them. A rejected setting is logged;
  /// ``CBPeripheralManagerDelegate/peripheralManager(_:didUpdateConnectionOf:timing:error:)`` reports the timing.
  public final func requestConnectionPriority(_ priority: ConnectionPriority, for central: CBCentral) {
    guard accepts("requestConnectionPriority") else { return }
    run {
      $0.command("requestConnectionPriority", central, .prioritize(priority), into: &$1)
    }
  }

  /// Ends the link of a central. The central receives the reason Remote User Terminated Connection (0x13).
  public final func cancelConnection(of central: CBCentral) {
    guard accepts("cancelConnection") else { return }
    run { $0.command("cancelConnection", central, .disconnect(.remoteUserTerminatedConnection), into: &$1) }
  }

  /// Reads the signal strength of a central's link;
  /// ``CBPeripheralManagerDelegate/peripheralManager(_:didReadRSSI:of:error:)`` answers.
  public final func readRSSI(of central: CBCentral) {
    guard accepts("readRSSI") else { return }
    run { $0.command("readRSSI", central, .readRSSI, into: &$1) }
  }

  /// Requests other PHYs for a central's link. The controllers choose among those that both devices allow; an empty set
  /// means no preference. ``CBPeripheralManagerDelegate/peripheralManager(_:central:didUpdatePHY:error:)`` answers.
  ///
  /// - Parameter coding: the coding of this device's transmissions on LE Coded.
  public final func setPreferredPHY(
    transmit: Set<LEPHY>, receive: Set<LEPHY>, coding: LECoding = .any, for central: CBCentral
  ) {
    guard accepts("setPreferredPHY") else { return }
    let preference = PHYPreference(transmit: transmit, receive: receive, coding: coding)
    run { $0.command("setPreferredPHY", central, .setPHY(preference), into: &$1) }
  }

  /// Reads the PHYs of a central's link;
  /// ``CBPeripheralManagerDelegate/peripheralManager(_:central:didUpdatePHY:error:)`` answers.
  public final func readPHY(of central: CBCentral) {
    guard accepts("readPHY") else { return }
    run { $0.command("readPHY", central, .readPHY, into: &$1) }
  }

  /// Asks a central to pair, or to encrypt the link with the keys of an earlier pairing (Vol 3, Part H, 3.6.7).
  public final func requestSecurity(of central: CBCentral) {
    guard accepts("requestSecurity") else { return }
    run { $0.command("requestSecurity", central, .requestSecurity, into: &$1) }
  }

  /// Authorizes a central to use the attributes that require authorization, or revokes this (Vol 3, Part C, 10.5).
  ///
  /// The program decides whom to authorize: it may ask its user, and remember a bonded central by its identifier. The
  /// authorization applies to this link. Authorize a central that reconnects again, preferably when
  /// ``CBPairingDelegate/manager(_:didChangeSecurityOf:to:)`` reports that it has proven its identity.
  ///
  /// ```swift
  /// func manager(_ manager: CBManager, didChangeSecurityOf peer: CBPeer, to security: PeerSecurity) {
  ///   guard security.isBondProven, let central = peer as? CBCentral else { return }
  ///   guard residents.contains(central.identifier) else { return }
  ///   door.setAuthorized(true, for: central)
  /// }
  /// ```
  public final func setAuthorized(_ isAuthorized: Bool, for central: CBCentral) {
    guard accepts("setAuthorized") else { return }
    run { $0.command("setAuthorized", central, .authorize(isAuthorized), into: &$1) }
  }
}

/// The connection latency that a peripheral requests; mirrors `CBPeripheralManagerConnectionLatency`.
public enum CBPeripheralManagerConnectionLatency: Int, Sendable {
  /// An interval of 15 ms, the shortest one that Apple's systems accept.
  case low = 0
  /// An interval of 30 to 50 ms.
  case medium = 1
  /// An interval of 105 to 125 ms.
  case high = 2

  var request: ConnectionParameterRequest {
    switch self {
    case .low: ConnectionParameterRequest(interval: .milliseconds(15)...Duration.milliseconds(15))
    case .medium: ConnectionParameterRequest(interval: .milliseconds(30)...Duration.milliseconds(50))
    case .high: ConnectionParameterRequest(interval: .milliseconds(105)...Duration.milliseconds(125))
    }
  }
}
