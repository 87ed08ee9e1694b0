import CoreBluetooth

// card-exchange CARD FOLDER [--killed-after OCTETS]
let arguments = CommandLine.arguments
guard arguments.count >= 3 else { fatalError("card-exchange CARD FOLDER") }
let octetsUntilKilled = arguments.firstIndex(of: "--killed-after").flatMap { Int(arguments[$0 + 1]) }
let peer = CardPeer(
  card: try Data(contentsOf: URL(fileURLWithPath: arguments[1])), folder: URL(fileURLWithPath: arguments[2]),
  octetsUntilKilled: octetsUntilKilled)
peer.start()
RunLoop.main.run()
