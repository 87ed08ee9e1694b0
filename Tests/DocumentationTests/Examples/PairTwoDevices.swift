import BLECrypto
import BLESMP
import BLEWire

/// Two devices that pair with each other over a channel of your own.
///
/// The user of each device confirms that both show the same six digits.
struct PairedDevices {
  private var central: PairingMachine
  private var peripheral: PairingMachine
  /// The results, as soon as a pairing has ended.
  private(set) var outcomes: [PairingOutcome] = []
  private(set) var failures: [PairingFailure] = []
  /// The numbers that the devices show.
  private(set) var numbers: [Passkey] = []

  /// - Parameter cryptography: the primitives of both devices: libcrypto's, or your own.
  init(cryptography: any Cryptography, random: RandomSource) {
    let (own, peer) = (Self.address(0xC0_11_22_33_44_55), Self.address(0xC0_66_77_88_99_AA))
    var random = random
    func machine(_ role: PairingMachine.Role, own: DeviceAddress, peer: DeviceAddress) -> PairingMachine {
      var settings = PairingSettings()
      settings.ioCapability = .displayYesNo
      settings.requestsMITM = true
      settings.identityAddress = own
      settings.identityResolvingKey = SecretKey(random.uint128())
      return PairingMachine(
        role: role, own: own, peer: peer, settings: settings, cryptography: cryptography, random: random.fork())
    }
    central = machine(.initiator, own: own, peer: peer)
    peripheral = machine(.responder, own: peer, peer: own)
  }

  /// Pairs, and performs the effects of both machines in order.
  mutating func pair(now: Instant) {
    var effects: [PairingEffect] = []
    central.start(isConsented: true, now: now, into: &effects)
    var queue = effects.map { (role: PairingMachine.Role.initiator, effect: $0) }
    while !queue.isEmpty {
      let (role, effect) = queue.removeFirst()
      let other: PairingMachine.Role = role == .initiator ? .responder : .initiator
      switch effect {
      case .send(let pdu):
        queue += change(other) { $0.receive(pdu.encoded[...], now: now, into: &$1) }
      case .ask(let id, .compare(let number)):
        numbers.append(number)
        queue += change(role) { $0.answer(id, .accept, now: now, into: &$1) }
      case .encrypt(let key):
        // A controller requests the key from the peripheral, encrypts the link, and reports that to both hosts.
        let isEnabled = peripheral.longTermKey(ediv: key.ediv, rand: key.rand) == key
        queue += change(.responder) { $0.encryptionChanged(isEnabled: isEnabled, now: now, into: &$1) }
        queue += change(.initiator) { $0.encryptionChanged(isEnabled: isEnabled, now: now, into: &$1) }
      case .completed(let outcome): outcomes.append(outcome)
      case .failed(let failure): failures.append(failure)
      default: break
      }
    }
  }

  private mutating func change(
    _ role: PairingMachine.Role, _ body: (inout PairingMachine, inout [PairingEffect]) -> Void
  ) -> [(role: PairingMachine.Role, effect: PairingEffect)] {
    var effects: [PairingEffect] = []
    if role == .initiator { body(&central, &effects) } else { body(&peripheral, &effects) }
    return effects.map { (role, $0) }
  }

  private static func address(_ value: UInt64) -> DeviceAddress {
    DeviceAddress(octets: BD_ADDR(value), kind: .random)
  }
}
