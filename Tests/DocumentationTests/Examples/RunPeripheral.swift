import BLEPeripheral

protocol PeripheralBoard {
  var now: Instant { get }
  mutating func send(_ octets: Span<UInt8>)
  /// Waits for octets of the controller. Returns none at the deadline, and nil to end the program.
  mutating func receive(until deadline: Instant?) -> [UInt8]?
  mutating func store(_ bond: [UInt8], of address: String)
  mutating func show(_ digits: String)
}

func run(_ peripheral: inout Peripheral, on board: inout some PeripheralBoard) throws(H4Error) {
  peripheral.start(now: board.now)
  while true {
    peripheral.transmit { board.send($0) }
    while let event = peripheral.nextEvent() {
      switch event {
      case .bondChanged(let bond): board.store(bond.encoded, of: bond.address)
      case .question(_, _, .display(let passkey)): board.show(passkey.digits)
      default: break
      }
    }
    guard let octets = board.receive(until: peripheral.deadline) else { return }
    try peripheral.receive(octets.span, now: board.now)
    peripheral.tick(now: board.now)
  }
}
